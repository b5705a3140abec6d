"""The desk of transfers between locations."""
