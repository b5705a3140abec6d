"""Pages for tasks: exceptions that need a person, by role, with numbers and the next step."""
