"""Configuration, start and supervision of all services, and the commands of `inventory`."""
