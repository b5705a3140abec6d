"""Tasks of the exceptions inbox that a person closes."""
