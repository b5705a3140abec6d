"""The desk that takes items into the range of a location."""
