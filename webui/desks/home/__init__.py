"""Home page of a person: the work that waits for their roles, most urgent first.

Each line of the page has one next action.
"""
