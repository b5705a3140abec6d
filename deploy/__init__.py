"""Configuration, start and supervision of all services, and the command line."""
