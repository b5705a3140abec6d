"""Logic revisions side by side: shadows, comparisons of their decisions, and the switch to one."""
