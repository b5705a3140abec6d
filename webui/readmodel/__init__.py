"""Tables that the projector fills and the pages read."""
