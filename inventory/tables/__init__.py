"""One module per captured table: the table's columns, their limits, and the class of its rows."""
