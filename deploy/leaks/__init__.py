"""Search files, processes and HTTP answers for the secrets of a home: `inventory leaks`."""
