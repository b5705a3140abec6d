"""Replenishment: families, reorder levels, order quantities and needs (domain.md 5)."""
