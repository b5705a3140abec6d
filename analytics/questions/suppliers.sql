-- How fast, how complete and how punctual does each supplier deliver?
-- On time means received on the due day (UTC) or before. The lead time is the mean from order to receipt.
WITH received AS (
    SELECT
        purchase_order_line_id AS line_id,
        CAST(sum(received_units) AS BIGINT) AS received_units,
        CAST(sum(damaged_units) AS BIGINT) AS damaged_units,
        max(received_at) AS received_at
    FROM shipments
    WHERE leg = 'supplier_in' AND status = 'received'
    GROUP BY purchase_order_line_id
),
lines AS (
    SELECT
        o.supplier,
        o.ordered_units,
        coalesce(r.received_units, 0) AS received_units,
        coalesce(r.damaged_units, 0) AS damaged_units,
        unix_seconds(r.received_at) - unix_seconds(o.ordered_at) AS seconds,
        -- The day in UTC: a cast to DATE would give the day in the time zone of the session.
        CASE WHEN
            DATE '1970-01-01' + CAST(floor(unix_seconds(r.received_at) / 86400) AS INT) <= o.due_on
            THEN 1 ELSE 0
        END AS on_time,
        CASE WHEN r.received_at IS NOT NULL AND o.due_on IS NOT NULL THEN 1 ELSE 0 END AS due
    FROM orders o
    LEFT JOIN received r ON r.line_id = o.id
)
SELECT
    supplier,
    CAST(count(*) AS BIGINT) AS order_lines,
    CAST(count(seconds) AS BIGINT) AS received_lines,
    CAST(sum(ordered_units) AS BIGINT) AS ordered_units,
    CAST(sum(received_units) AS BIGINT) AS received_units,
    CAST(sum(damaged_units) AS BIGINT) AS damaged_units,
    CAST(floor(1000 * sum(received_units) / nullif(sum(ordered_units), 0)) AS BIGINT) AS fill_permille,
    CAST(floor(1000 * sum(on_time) / nullif(sum(due), 0)) AS BIGINT) AS on_time_permille,
    CAST(floor(sum(seconds) / nullif(count(seconds) * 3600, 0)) AS BIGINT) AS lead_time_hours
FROM lines
GROUP BY supplier
ORDER BY supplier
