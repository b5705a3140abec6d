"""Logic revisions side by side: shadows, their comparison, and the switch to one of them."""
