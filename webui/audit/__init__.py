"""The audit log's hash chain: how it is checked, and where its head is kept a second time."""
