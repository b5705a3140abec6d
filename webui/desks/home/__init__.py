"""Home page of a person: what waits for their roles, most urgent first, each with one action."""
