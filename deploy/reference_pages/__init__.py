"""Parts of docs/reference that are read from the routes, the metrics and the schemas."""
