"""The `inventory` command: one module per group of subcommands, thin calls, late imports."""
