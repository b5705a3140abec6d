"""Services of `docker-compose.yml`, and the fields that they share."""
