"""Facts of the captured tables: columns, limits, parsing."""
