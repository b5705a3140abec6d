"""The system page, and health for machines."""
