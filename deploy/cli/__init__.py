"""The `inventory` command: one module per group of subcommands.

Each command imports what it needs when it is called, so that the others start without it.
"""
