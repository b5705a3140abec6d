"""Shipments of suppliers, and receipts of goods from suppliers and transfers."""
