"""The command by which a person ranges an item at a location."""
