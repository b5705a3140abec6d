"""Execution of requests of the page History, as commands of `inventory` in child processes."""
