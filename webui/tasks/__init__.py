"""The tasks desk: what needs a person, for each role, with its numbers and the next step."""
