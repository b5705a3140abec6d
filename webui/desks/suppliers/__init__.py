"""Pages for measured supplier performance: lead times, fill rates, punctuality, discrepancies."""
