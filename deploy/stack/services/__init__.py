"""One module per part: its command, its generated configuration, its probe."""
