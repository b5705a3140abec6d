"""Price signals, targets, gates and the life of a price proposal."""
