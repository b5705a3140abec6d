"""The captured tables, one module each: its columns, their limits and the class of its rows."""
