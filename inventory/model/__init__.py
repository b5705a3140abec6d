"""The value types of the rules: states, facts, outputs, and the arithmetic that they share."""
