"""Login, and the rights of each role."""
