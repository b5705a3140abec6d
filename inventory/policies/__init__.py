"""What the numbers of a key ask for: orders and prices."""
