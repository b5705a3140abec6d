"""Measurements on the running stack."""
