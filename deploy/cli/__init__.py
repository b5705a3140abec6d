"""The `inventory` command: one module per group of verbs, each call thin, imports late."""
