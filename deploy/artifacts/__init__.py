"""Fetch the JVM parts with Maven, verify them by a committed list of checksums, and cache them."""
