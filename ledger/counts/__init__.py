"""Counts and adjustments: sheets, approvals, bookings."""
