"""Pages for stock: the list, and the page that explains one number."""
