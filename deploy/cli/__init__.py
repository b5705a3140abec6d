"""The `inventory` command: one module per group of subcommands. Functions import when called."""
