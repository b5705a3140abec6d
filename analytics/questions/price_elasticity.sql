-- How does demand respond to each step of the price ladder?
-- A step is compared with step 0 of the same items. An elasticity of -2000 permille is -2: one percent off sells two percent more.
WITH spans AS (
    SELECT
        p.inv_key,
        p.step,
        p.effective_from AS from_at,
        lead(p.effective_from) OVER (PARTITION BY p.inv_key ORDER BY p.effective_from, p.id) AS until_at
    FROM price_changes p
),
bounded AS (
    SELECT b.inv_key, b.step, b.from_at, coalesce(b.until_at, s.stream_time) AS until_at
    FROM spans b
    JOIN states s ON s.inv_key = b.inv_key
    WHERE coalesce(b.until_at, s.stream_time) > b.from_at
),
sold AS (
    SELECT
        b.inv_key,
        b.from_at,
        CAST(sum(l.quantity_units) AS BIGINT) AS units,
        CAST(sum(l.amount_minor) AS BIGINT) AS minor
    FROM bounded b
    JOIN sales l ON l.inv_key = b.inv_key
        AND l.business_at >= b.from_at
        AND l.business_at < b.until_at
    WHERE l.quantity_units > 0
    GROUP BY b.inv_key, b.from_at
),
steps AS (
    SELECT
        b.inv_key,
        b.step,
        CAST(sum(unix_seconds(b.until_at) - unix_seconds(b.from_at)) AS BIGINT) AS seconds,
        CAST(sum(coalesce(sold.units, 0)) AS BIGINT) AS units,
        CAST(sum(coalesce(sold.minor, 0)) AS BIGINT) AS minor
    FROM bounded b
    LEFT JOIN sold ON sold.inv_key = b.inv_key AND sold.from_at = b.from_at
    GROUP BY b.inv_key, b.step
),
compared AS (
    SELECT
        k.step,
        CAST(count(*) AS BIGINT) AS items,
        CAST(sum(k.units) AS BIGINT) AS sold_units,
        CAST(floor(86400000 * sum(k.units) / nullif(sum(k.seconds), 0)) AS BIGINT) AS daily_milliunits,
        CAST(floor(sum(k.minor) / nullif(sum(k.units), 0)) AS BIGINT) AS mean_minor,
        CAST(floor(86400000 * sum(z.units) / nullif(sum(z.seconds), 0)) AS BIGINT) AS regular_daily_milliunits,
        CAST(floor(sum(z.minor) / nullif(sum(z.units), 0)) AS BIGINT) AS regular_minor
    FROM steps k
    JOIN steps z ON z.inv_key = k.inv_key AND z.step = 0
    GROUP BY k.step
)
SELECT
    step,
    items,
    sold_units,
    daily_milliunits,
    mean_minor,
    regular_daily_milliunits,
    regular_minor,
    CAST(
        floor(
            1000 * (daily_milliunits - regular_daily_milliunits) * (mean_minor + regular_minor)
            / nullif((daily_milliunits + regular_daily_milliunits) * (mean_minor - regular_minor), 0)
        ) AS BIGINT
    ) AS elasticity_permille
FROM compared
ORDER BY step
