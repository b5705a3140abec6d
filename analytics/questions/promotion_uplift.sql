-- How much more did each item sell while its price was reduced?
-- Units before are those of a time before the reduction that is as long as the reduction. Units are those sold, without returns. If there are no rows, no price was reduced.
WITH spans AS (
    SELECT
        p.inv_key,
        p.store,
        p.sku,
        p.step,
        p.price_minor,
        p.effective_from AS from_at,
        lead(p.effective_from) OVER (PARTITION BY p.inv_key ORDER BY p.effective_from, p.id) AS until_at
    FROM price_changes p
),
reduced AS (
    SELECT
        r.inv_key,
        r.store,
        r.sku,
        r.step,
        r.price_minor,
        r.from_at,
        unix_seconds(r.from_at) AS begins,
        unix_seconds(coalesce(r.until_at, s.stream_time)) - unix_seconds(r.from_at) AS seconds
    FROM spans r
    JOIN states s ON s.inv_key = r.inv_key
    WHERE r.step > 0 AND coalesce(r.until_at, s.stream_time) > r.from_at
),
sold AS (
    SELECT inv_key, quantity_units, unix_seconds(business_at) AS at_second
    FROM sales
    WHERE quantity_units > 0
),
compared AS (
    SELECT
        r.store,
        r.sku,
        r.step,
        r.price_minor,
        r.from_at,
        CAST(floor(r.seconds / 3600) AS BIGINT) AS hours,
        CAST(coalesce(sum(CASE WHEN l.at_second < r.begins THEN l.quantity_units ELSE 0 END), 0) AS BIGINT)
            AS units_before,
        CAST(coalesce(sum(CASE WHEN l.at_second >= r.begins THEN l.quantity_units ELSE 0 END), 0) AS BIGINT)
            AS units_during
    FROM reduced r
    LEFT JOIN sold l ON l.inv_key = r.inv_key
        AND l.at_second >= r.begins - r.seconds
        AND l.at_second < r.begins + r.seconds
    GROUP BY r.store, r.sku, r.step, r.price_minor, r.from_at, r.seconds
)
SELECT
    store,
    sku,
    step,
    price_minor,
    from_at,
    hours,
    units_before,
    units_during,
    CAST(floor(1000 * (units_during - units_before) / nullif(units_before, 0)) AS BIGINT)
        AS uplift_permille
FROM compared
ORDER BY from_at, store, sku
