-- How wrong is the learned demand of items with high, medium and low revenue?
-- Class A makes 80 percent of the revenue, B the next 15, C the rest. The error is mean absolute error divided by demand rate.
WITH revenue AS (
    SELECT
        s.inv_key,
        s.demand_rate_micro,
        s.demand_mad_micro,
        greatest(coalesce(sold.minor, 0), 0) AS minor
    FROM states s
    LEFT JOIN (
        SELECT inv_key, CAST(sum(amount_minor) AS BIGINT) AS minor FROM sales GROUP BY inv_key
    ) sold ON sold.inv_key = s.inv_key
),
ranked AS (
    SELECT
        inv_key,
        demand_rate_micro,
        demand_mad_micro,
        minor,
        CAST(sum(minor) OVER (ORDER BY minor DESC, inv_key ROWS UNBOUNDED PRECEDING) AS BIGINT) - minor
            AS minor_before,
        CAST(sum(minor) OVER () AS BIGINT) AS minor_of_all
    FROM revenue
),
classed AS (
    SELECT
        CASE
            WHEN minor > 0 AND 100 * minor_before < 80 * minor_of_all THEN 'A'
            WHEN minor > 0 AND 100 * minor_before < 95 * minor_of_all THEN 'B'
            ELSE 'C'
        END AS abc_class,
        demand_rate_micro,
        demand_mad_micro,
        minor
    FROM ranked
)
SELECT
    abc_class,
    CAST(count(*) AS BIGINT) AS items,
    CAST(sum(minor) AS BIGINT) AS revenue_minor,
    CAST(sum(demand_rate_micro) AS BIGINT) AS demand_rate_micro,
    CAST(sum(demand_mad_micro) AS BIGINT) AS demand_mad_micro,
    CAST(floor(1000 * sum(demand_mad_micro) / nullif(sum(demand_rate_micro), 0)) AS BIGINT)
        AS error_permille
FROM classed
GROUP BY abc_class
ORDER BY abc_class
