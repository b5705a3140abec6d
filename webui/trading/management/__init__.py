"""Management commands of trading."""
