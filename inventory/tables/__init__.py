"""The captured tables. Each has a module with its columns, their limits and its rows' class."""
