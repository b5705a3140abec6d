"""Purchase orders: lines, suppliers' terms, scorecards."""
