"""Pages for stock: the list, and the page that explains the figures of one item."""
