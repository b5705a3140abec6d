"""The JVM parts: fetched by Maven, verified against a committed list, kept outside the repository."""
