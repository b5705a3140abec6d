"""The `inventory` command: one module per group of subcommands.

The function of a command imports the modules that it needs. So other commands start without them.
"""
