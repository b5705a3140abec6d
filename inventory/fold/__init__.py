"""One module per quantity: the effect of a change on it, and its value afterwards."""
