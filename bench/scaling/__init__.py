"""What a second worker brings, and how long a question waits while workers catch up."""
