"""Contests: tasks, contenders, measured decodes, tables, races. docs/evaluation.md says how to run one."""
