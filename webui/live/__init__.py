"""Server-sent events that bring changes of the changelog to open pages."""
