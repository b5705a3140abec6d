"""Suppliers as they really deliver: lead times, fill, punctuality, discrepancies."""
