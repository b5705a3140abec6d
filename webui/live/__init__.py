"""Server-sent events: changelog to hub to open page."""
