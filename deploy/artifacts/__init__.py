"""The JVM parts: fetched by Maven, verified against a committed list, kept out of the clone."""
