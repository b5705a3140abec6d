"""Modules that run only in the containers of docker-compose.yml."""
