"""Schema of the system of record, step by step; every step is reversible."""
