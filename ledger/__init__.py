"""The system of record: Postgres tables, their constraints, and the services that write them."""
