-- Which items have stock, but no sale for two weeks or longer, at locations that have sales?
-- Days are counted to the newest record of the log. Value is at cost. An item without a last sale was never sold. Locations without any sale, such as warehouses, are left out.
WITH newest AS (
    SELECT max(unix_seconds(committed_at)) AS at_second FROM log
),
sold AS (
    SELECT inv_key, max(business_at) AS last_sale_at
    FROM sales
    WHERE quantity_units > 0
    GROUP BY inv_key
)
SELECT
    s.store,
    s.sku,
    s.on_hand_units,
    s.on_hand_units * s.cost_minor AS value_minor,
    sold.last_sale_at,
    CAST(floor((n.at_second - unix_seconds(sold.last_sale_at)) / 86400) AS BIGINT) AS days_without_sale
FROM states s
CROSS JOIN newest n
LEFT JOIN sold ON sold.inv_key = s.inv_key
WHERE s.on_hand_units > 0
    AND s.store IN (SELECT store FROM sales)
    AND (sold.last_sale_at IS NULL OR n.at_second - unix_seconds(sold.last_sale_at) >= 14 * 86400)
ORDER BY value_minor DESC NULLS LAST, s.store, s.sku
