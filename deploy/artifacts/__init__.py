"""Fetch the JVM parts with Maven, verify them by a committed list of checksums, and cache them.

The JVM parts are the broker, Connect and Debezium.
"""
