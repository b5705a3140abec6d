"""Login, and what each role may do."""
