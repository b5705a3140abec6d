-- How much of its available stock has each item sold?
-- Returns reduce the sold units. Available stock is the sold units plus the units on hand now.
WITH sold AS (
    SELECT inv_key, CAST(sum(quantity_units) AS BIGINT) AS units
    FROM sales
    GROUP BY inv_key
)
SELECT
    s.store,
    s.sku,
    coalesce(sold.units, 0) AS sold_units,
    s.on_hand_units,
    CAST(floor(1000 * sold.units / nullif(sold.units + greatest(s.on_hand_units, 0), 0)) AS BIGINT)
        AS sell_through_permille
FROM states s
LEFT JOIN sold ON sold.inv_key = s.inv_key
ORDER BY sell_through_permille DESC NULLS LAST, s.store, s.sku
