"""Pages for measured supplier performance: lead times, fill, punctuality, discrepancies."""
