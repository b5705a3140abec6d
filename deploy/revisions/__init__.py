"""Logic revisions side by side: shadows, their comparison with the deciding one, and the switch."""
