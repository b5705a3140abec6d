-- Which stores lose how many units, and why?
-- One row per store and cause: the reason of adjustments, or the kind of counts. Negative lost units were found. Value is at cost.
SELECT
    m.store,
    m.cause,
    CAST(count(*) AS BIGINT) AS facts,
    CAST(-sum(m.on_hand_units) AS BIGINT) AS lost_units,
    CAST(-sum(m.on_hand_units * s.cost_minor) AS BIGINT) AS lost_minor
FROM movements m
JOIN states s ON s.inv_key = m.inv_key
WHERE m.table_name = 'stock_adjustment'
    OR (m.table_name = 'stock_count' AND m.cause <> 'opening')
GROUP BY m.store, m.cause
ORDER BY lost_minor DESC NULLS LAST, m.store, m.cause
