"""The desk of counts and adjustments."""
