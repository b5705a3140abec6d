"""What runs only in the containers of docker-compose.yml."""
