"""Fetch the JVM parts: the broker, Connect and Debezium.

Maven fetches these parts. A committed list has the checksums of their files. The cache keeps the
parts whose checksums match.
"""
