"""Pages for receiving: due orders of a location, one delivery at a time, its report."""
