"""Tasks: what is asked, and how an answer is scored. No torch and no model.

``task`` says what a task is; ``registry`` lists the tasks and loads one. docs/tasks.md describes each of them.
"""
