"""System of record: tables, their constraints, and the services that write them."""
