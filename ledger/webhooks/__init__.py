"""Webhooks: events of decisions, sent as signed HTTP requests to registered addresses."""
