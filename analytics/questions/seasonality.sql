-- On which weekdays and at which hours do stores sell?
-- Weekday 1 is Monday; hours are UTC. Each share is of all units sold.
WITH cells AS (
    SELECT
        weekday,
        hour,
        CAST(sum(sold_units) AS BIGINT) AS sold_units,
        CAST(sum(sale_lines) AS BIGINT) AS sale_lines,
        CAST(sum(revenue_minor) AS BIGINT) AS revenue_minor
    FROM windows
    GROUP BY weekday, hour
),
total AS (
    SELECT CAST(sum(sold_units) AS BIGINT) AS sold_units FROM cells
)
SELECT
    c.weekday,
    c.hour,
    c.sold_units,
    c.sale_lines,
    c.revenue_minor,
    CAST(floor(1000 * c.sold_units / nullif(t.sold_units, 0)) AS BIGINT) AS share_permille
FROM cells c
CROSS JOIN total t
ORDER BY c.weekday, c.hour
