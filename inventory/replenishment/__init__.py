"""Reorder levels, order quantities and the life of a need."""
