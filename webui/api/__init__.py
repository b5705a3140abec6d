"""The HTTP API for programs, over the same services and queries as the pages (decision 0043)."""
