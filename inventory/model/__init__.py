"""The values that the rules are about."""
