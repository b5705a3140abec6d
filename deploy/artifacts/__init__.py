"""Fetch the JVM parts: the broker, Connect and Debezium.

Maven fetches them. A committed list has the checksums that they must have. The cache keeps them.
"""
