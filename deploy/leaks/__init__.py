"""A search for the secrets of a home in every place where none may be: `inventory leaks`."""
