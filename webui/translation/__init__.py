"""Languages of the pages: their catalogues, and the message ids of the sources."""
