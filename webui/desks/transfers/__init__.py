"""Pages for transfers between locations."""
