"""The system page, and health checks for machines."""
