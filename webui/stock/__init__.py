"""The stock list, and the page that explains one number."""
