"""Pages for counts and adjustments."""
