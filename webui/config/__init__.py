"""Django project: settings from the environment, routes, ASGI entry."""
