"""The captured tables, one module each: its columns, the limits of their values, its fact."""
