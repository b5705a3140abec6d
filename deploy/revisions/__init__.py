"""Logic revisions side by side: shadows, their comparison with what decides, and the switch."""
