"""The kinds of tasks of the inbox, and the decisions by which people end tasks."""
