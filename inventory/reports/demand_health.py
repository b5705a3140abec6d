"""The limits at or above which demand counts as intermittent (domain.md 3.3).

For intermittent demand, the method `tsb` is better than `ewma`. A person chooses the method in the
policy column `demand_method`. An item sells intermittently if it sold on at least
`LEAST_SELLING_DAYS` days, on average at least `GAP_CENTIDAYS` hundredths of a day apart.
`webui.readmodel.demand` counts such items in SQL.
"""

GAP_CENTIDAYS = 132
LEAST_SELLING_DAYS = 2
