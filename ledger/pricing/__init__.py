"""Prices and answers to price proposals."""
