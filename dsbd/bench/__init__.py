"""Benchmarks: tasks, systems, measured decodes, tables, races. docs/commands.md says how to run one."""
