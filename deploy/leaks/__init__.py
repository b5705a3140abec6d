"""Search for the secrets of a home in all files, processes and answers: `inventory leaks`."""
