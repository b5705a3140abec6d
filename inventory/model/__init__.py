"""The value types of the rules."""
