"""The `inventory` command: one module per group of subcommands.

The function of each command imports the modules that it needs. So no command waits for the imports
of another one.
"""
