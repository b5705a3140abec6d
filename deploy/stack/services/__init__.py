"""Definitions of the services, one module per kind: command, configuration files and probe."""
