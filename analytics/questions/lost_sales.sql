-- How many units could not be sold, because nothing was on hand?
-- Lost units are an estimate: the learned demand rate times the hours in which stock was zero or less.
WITH empty AS (
    SELECT
        m.inv_key,
        CAST(sum(CASE WHEN m.on_hand_after_units - m.on_hand_units > 0 THEN 1 ELSE 0 END) AS BIGINT) AS stock_outs,
        CAST(sum(unix_seconds(coalesce(m.until_at, s.stream_time)) - unix_seconds(m.business_at)) AS BIGINT)
            AS seconds
    FROM movements m
    JOIN states s ON s.inv_key = m.inv_key
    WHERE m.stock_known
        AND m.on_hand_after_units <= 0
        AND coalesce(m.until_at, s.stream_time) > m.business_at
    GROUP BY m.inv_key
),
lost AS (
    SELECT
        s.store,
        s.sku,
        empty.stock_outs,
        CAST(floor(empty.seconds / 3600) AS BIGINT) AS empty_hours,
        s.demand_rate_micro,
        CAST(floor(s.demand_rate_micro * empty.seconds / 86400000000) AS BIGINT) AS lost_units,
        coalesce(s.price_minor, s.regular_minor) AS price_minor
    FROM empty
    JOIN states s ON s.inv_key = empty.inv_key
)
SELECT
    store,
    sku,
    stock_outs,
    empty_hours,
    demand_rate_micro,
    lost_units,
    lost_units * price_minor AS lost_minor
FROM lost
ORDER BY lost_minor DESC NULLS LAST, store, sku
