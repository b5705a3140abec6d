"""Pages that add items to the range of a location."""
