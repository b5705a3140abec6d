"""Reviews of the difference between two logic revisions. A second person decides on each review."""
