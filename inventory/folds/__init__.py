"""One module per quantity: what a change adds to it, and what it is afterwards."""
