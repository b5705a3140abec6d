"""Goods from suppliers: shipments and receipts."""
