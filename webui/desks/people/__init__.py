"""The desk of people: accounts, roles, stores, invitations."""
