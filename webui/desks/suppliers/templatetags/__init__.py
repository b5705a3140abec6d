"""Template filters of the suppliers desk."""
