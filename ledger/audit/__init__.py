"""Verification of the audit log's hash chain, and a file with the chain's last number and hash."""
