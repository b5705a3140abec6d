"""The reorders desk."""
