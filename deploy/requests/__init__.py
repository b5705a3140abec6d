"""Execution of the analyst desk's requests, as commands of `inventory` in child processes."""
