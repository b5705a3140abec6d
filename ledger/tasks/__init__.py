"""The kinds of tasks of the desk Tasks, and the decisions by which people end tasks."""
