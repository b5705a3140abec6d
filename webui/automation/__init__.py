"""What the system does by itself beside the log: approvals by rule, prices, tasks, scorecard.

Nothing here decides about stock. Each job reads what the workers have said and what people allow,
and writes through the same services as people do, so the ledger cannot tell a rule from a person
except by its name.
"""
