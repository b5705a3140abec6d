"""Stores that a person may see and change, and the SQL that holds queries to them."""
