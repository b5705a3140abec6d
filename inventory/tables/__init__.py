"""The captured tables: a module for each, with its columns, their limits and its fact."""
