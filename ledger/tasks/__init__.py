"""The kinds of tasks of the inbox, and the decisions of people that end one."""
