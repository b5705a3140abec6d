"""Server-sent events that bring new states from the changelog to open pages."""
