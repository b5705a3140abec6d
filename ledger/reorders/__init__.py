"""Answers to reorder proposals."""
