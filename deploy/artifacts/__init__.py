"""Fetch the JVM parts with Maven, verify them against a committed list, and cache them."""
