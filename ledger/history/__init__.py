"""Facts of the past in bulk, one statement per table and day."""
