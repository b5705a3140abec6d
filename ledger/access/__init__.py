"""The stores that a person may see and change, and the SQL that limits queries to them."""
