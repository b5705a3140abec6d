"""Server-sent events: from the changelog through the hub to open pages."""
