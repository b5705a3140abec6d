"""Execution of requests from the page History, as commands of `inventory` in child processes."""
