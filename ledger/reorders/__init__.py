"""Decisions on reorder proposals, by people and by rule."""
