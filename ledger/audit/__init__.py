"""Verification of the audit log's hash chain, and the copy of its head outside of Postgres."""
