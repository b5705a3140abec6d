"""Add an item to the range of a location."""
