"""The formats of records and files, and the names and settings of all topics."""
