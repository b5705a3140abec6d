"""Rule-made price proposals: signals, price targets, gates and proposal states (domain.md 6)."""
