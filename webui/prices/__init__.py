"""The pricing desk."""
