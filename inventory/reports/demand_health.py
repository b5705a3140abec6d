"""Intermittent demand, for which `tsb` is the better method (domain.md 3.3).

An item sells intermittently if it has at least `LEAST_SELLING_DAYS` selling days whose average gap
is at least `GAP_CENTIDAYS`. `webui.readmodel.demand` counts such items in SQL.
"""

GAP_CENTIDAYS = 132
LEAST_SELLING_DAYS = 2
