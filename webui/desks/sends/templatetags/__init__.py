"""Template filters of the buyer's desk."""
