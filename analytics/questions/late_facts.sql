-- How late do the sales of each store arrive, and how many are counted in no window?
-- A delay is the time from business time to commit. Imported lines have no delay, because an import writes them long after the sale. Late counted lines arrived after their window was closed. Uncounted facts arrived after their window had expired, so no window has them.
WITH clocks AS (
    SELECT l.key AS inv_key, l.committed_at, get_json_object(l.value, '$.after.clock_mode') AS mode
    FROM log l
    WHERE l.table_name = 'item_location' AND l.admission = 'new'
),
replayed AS (
    SELECT inv_key, min(CASE WHEN mode = 'live' THEN committed_at END) AS live_at
    FROM clocks
    GROUP BY inv_key
    HAVING sum(CASE WHEN mode = 'replayed' THEN 1 ELSE 0 END) > 0
),
lines AS (
    SELECT
        s.store,
        CASE
            WHEN r.inv_key IS NULL OR s.committed_at >= r.live_at
                THEN unix_seconds(s.committed_at) - unix_seconds(s.business_at)
        END AS seconds
    FROM sales s
    LEFT JOIN replayed r ON r.inv_key = s.inv_key
),
delays AS (
    SELECT
        store,
        CAST(count(seconds) AS BIGINT) AS sale_lines,
        CAST(sum(CASE WHEN seconds > 1200 THEN 1 ELSE 0 END) AS BIGINT) AS over_20_minutes,
        CAST(sum(CASE WHEN seconds > 3600 THEN 1 ELSE 0 END) AS BIGINT) AS over_an_hour,
        CAST(sum(CASE WHEN seconds > 86400 THEN 1 ELSE 0 END) AS BIGINT) AS over_a_day,
        CAST(sum(CASE WHEN seconds > 259200 THEN 1 ELSE 0 END) AS BIGINT) AS over_three_days,
        CAST(floor(max(seconds) / 3600) AS BIGINT) AS longest_hours
    FROM lines
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
