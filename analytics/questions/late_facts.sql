-- How late do the sales of each store arrive, and what do windows miss?
-- A delay is from business time to commit. Lines of closed windows are late; those of expired windows are in no window.
WITH delays AS (
    SELECT
        store,
        CAST(count(*) AS BIGINT) AS sale_lines,
        CAST(sum(CASE WHEN seconds > 1200 THEN 1 ELSE 0 END) AS BIGINT) AS over_20_minutes,
        CAST(sum(CASE WHEN seconds > 3600 THEN 1 ELSE 0 END) AS BIGINT) AS over_an_hour,
        CAST(sum(CASE WHEN seconds > 86400 THEN 1 ELSE 0 END) AS BIGINT) AS over_a_day,
        CAST(sum(CASE WHEN seconds > 259200 THEN 1 ELSE 0 END) AS BIGINT) AS over_three_days,
        CAST(floor(max(seconds) / 3600) AS BIGINT) AS longest_hours
    FROM (
        SELECT store, unix_seconds(committed_at) - unix_seconds(business_at) AS seconds FROM sales
    ) lines
    GROUP BY store
),
counted AS (
    SELECT store, CAST(sum(late_lines) AS BIGINT) AS lines FROM windows GROUP BY store
),
missed AS (
    SELECT
        store,
        CAST(count(*) AS BIGINT) AS facts,
        CAST(sum(units) AS BIGINT) AS units,
        CAST(sum(amount_minor) AS BIGINT) AS minor
    FROM late
    GROUP BY store
)
SELECT
    d.store,
    d.sale_lines,
    d.over_20_minutes,
    d.over_an_hour,
    d.over_a_day,
    d.over_three_days,
    d.longest_hours,
    coalesce(c.lines, 0) AS late_counted_lines,
    coalesce(m.facts, 0) AS uncounted_facts,
    coalesce(m.units, 0) AS uncounted_units,
    coalesce(m.minor, 0) AS uncounted_minor
FROM delays d
LEFT JOIN counted c ON c.store = d.store
LEFT JOIN missed m ON m.store = d.store
ORDER BY d.store
