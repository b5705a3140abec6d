"""The only SQL definition of the effect of a row on stock (docs/domain.md 2.1, 2.3).

One function per table returns the movement of a row. The function accepts any row value, also that
of a deleted row. The views apply these functions to every row of the tables. The command `verify`,
the explanation of a number and the item page read only these views.
* `business_at` is the business time of a fact.
* `movement_of` and the view `movement`: on-hand and unavailable, signed, with cause and document.
* `approved_count`: the approved counts, which set on-hand.
* `inbound_of` and the view `inbound`: on-order and in-transit, signed.
* `stock_facts`: a key's facts in business order with on-hand after each (2.4).
* `stock_split`: the last count and the movements since, one row per cause.
* `inbound_documents`: the open documents of a key, one row per document.
* `whereabouts`: for error messages about an unknown key. It returns True for a known location, and
  lists of locations and SKUs that the person may have meant.
"""

from django.db import migrations

BUSINESS = """
CREATE FUNCTION retail.business_at(happened timestamptz, recorded timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT date_trunc('second', least(happened, recorded))
$$;
"""

_MOVEMENT = """LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$"""
_COLUMNS = """TABLE (business_at timestamptz, cause text, kind text, on_hand_units bigint,
    unavailable_units bigint, document text)"""

MOVEMENTS = f"""
CREATE FUNCTION retail.movement_of(fact retail.sale_line) RETURNS {_COLUMNS} {_MOVEMENT}
    SELECT retail.business_at(fact.occurred_at, fact.recorded_at),
        CASE WHEN fact.quantity_units > 0 THEN 'sales' ELSE 'returns' END,
        CASE WHEN fact.quantity_units > 0 THEN 'sale' ELSE 'return, ' || fact.condition END,
        CASE WHEN fact.quantity_units > 0 OR fact.condition = 'resaleable'
             THEN -fact.quantity_units ELSE 0 END,
        CASE WHEN fact.quantity_units < 0 AND fact.condition = 'damaged'
             THEN -fact.quantity_units ELSE 0 END,
        fact.source || ' ' || fact.source_ref
$$;
CREATE FUNCTION retail.movement_of(fact retail.shipment_line) RETURNS {_COLUMNS} {_MOVEMENT}
    SELECT retail.business_at(
            CASE fact.leg WHEN 'transfer_out' THEN fact.shipped_at ELSE fact.received_at END,
            fact.recorded_at),
        CASE fact.leg WHEN 'supplier_in' THEN 'receipts' ELSE 'transfers' END,
        CASE fact.leg WHEN 'supplier_in' THEN 'receipt' WHEN 'transfer_in' THEN 'transfer in'
             ELSE 'transfer out' END,
        CASE fact.leg WHEN 'transfer_out' THEN -fact.shipped_units ELSE fact.received_units END,
        CASE fact.leg WHEN 'transfer_out' THEN 0 ELSE fact.damaged_units END,
        coalesce(fact.transfer_ref, 'order line ' || fact.purchase_order_line_id,
                 'shipment ' || fact.id)
    WHERE fact.status = CASE fact.leg WHEN 'transfer_out' THEN 'shipped' ELSE 'received' END
$$;
CREATE FUNCTION retail.movement_of(fact retail.stock_adjustment) RETURNS {_COLUMNS} {_MOVEMENT}
    SELECT retail.business_at(fact.occurred_at, fact.recorded_at),
        'adjustments',
        replace(fact.reason, '_', ' '),
        CASE WHEN fact.reason IN ('found', 'correction_up', 'repair') THEN fact.quantity_units
             WHEN fact.reason IN ('dispose', 'vendor_return_damaged') THEN 0
             ELSE -fact.quantity_units END,
        CASE WHEN fact.reason = 'damage' THEN fact.quantity_units
             WHEN fact.reason IN ('repair', 'dispose', 'vendor_return_damaged')
             THEN -fact.quantity_units ELSE 0 END,
        'adjustment ' || fact.id
$$;
"""

_MOVING = ("sale_line", "shipment_line", "stock_adjustment")
MOVEMENT = "CREATE VIEW retail.movement AS" + " UNION ALL ".join(
    f"""
    SELECT fact.inv_key, fact.location, fact.sku, '{table}'::text AS table_name, fact.id AS row_id,
        moved.business_at, fact.recorded_at, moved.cause, moved.kind, moved.on_hand_units,
        moved.unavailable_units, moved.document, fact.recorded_by AS actor
    FROM retail.{table} fact CROSS JOIN LATERAL retail.movement_of(fact) moved"""
    for table in _MOVING
)

COUNTS = """;
CREATE VIEW retail.approved_count AS
    SELECT inv_key, location, sku, id AS row_id, kind, units,
        retail.business_at(occurred_at, recorded_at) AS business_at, recorded_at,
        recorded_by AS actor
    FROM retail.stock_count WHERE status = 'approved';
"""

INBOUND = """
CREATE FUNCTION retail.inbound_of(fact retail.purchase_order_line)
RETURNS TABLE (on_order_units bigint, in_transit_units bigint)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
    SELECT coalesce(fact.confirmed_units, fact.ordered_units) - fact.cancelled_units, 0::bigint
$$;
CREATE FUNCTION retail.inbound_of(fact retail.shipment_line)
RETURNS TABLE (on_order_units bigint, in_transit_units bigint)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
    SELECT CASE WHEN fact.leg = 'supplier_in' AND fact.status = 'received' THEN -fact.order_units
                WHEN fact.leg = 'transfer_in' AND fact.status = 'planned' THEN fact.planned_units
                WHEN fact.leg = 'transfer_in' AND fact.status = 'shipped' THEN fact.shipped_units
                ELSE 0 END,
        CASE WHEN fact.leg <> 'transfer_out' AND fact.status = 'shipped'
             THEN fact.shipped_units ELSE 0 END
$$;
CREATE VIEW retail.inbound AS
    SELECT fact.inv_key, fact.location, 'purchase_order_line'::text AS table_name,
        fact.id AS row_id, fact.id AS purchase_order_line_id, due.on_order_units,
        due.in_transit_units
    FROM retail.purchase_order_line fact CROSS JOIN LATERAL retail.inbound_of(fact) due
    UNION ALL
    SELECT fact.inv_key, fact.location, 'shipment_line'::text, fact.id,
        fact.purchase_order_line_id, due.on_order_units, due.in_transit_units
    FROM retail.shipment_line fact CROSS JOIN LATERAL retail.inbound_of(fact) due;
"""

# A receipt is part of the row of its order line if both have the same key. Otherwise it has a row
# of its own.
DOCUMENTS = """
CREATE FUNCTION retail.inbound_documents(key text)
RETURNS TABLE (table_name text, row_id bigint, document text, detail text, due_on date,
    actor text, on_order_units bigint, in_transit_units bigint)
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN o.id IS NULL THEN 'shipment_line' ELSE 'purchase_order_line' END,
        coalesce(o.id, s.id),
        coalesce(o.order_ref || ' · line ' || o.id, coalesce(s.transfer_ref, 'shipment')
                 || ' · line ' || s.id),
        CASE WHEN o.id IS NOT NULL THEN o.supplier || ', ' || o.status
             WHEN s.leg = 'transfer_in' THEN 'transfer in, ' || s.status
             ELSE 'supplier, without an order line, ' || s.status END,
        o.due_on,
        coalesce(o.recorded_by, s.recorded_by),
        sum(i.on_order_units)::bigint, sum(i.in_transit_units)::bigint
    FROM retail.inbound i
    LEFT JOIN retail.purchase_order_line o
        ON o.id = i.purchase_order_line_id AND o.inv_key = i.inv_key
    LEFT JOIN retail.shipment_line s
        ON o.id IS NULL AND i.table_name = 'shipment_line' AND s.id = i.row_id
    WHERE i.inv_key = key
    GROUP BY o.id, s.id
    HAVING sum(i.on_order_units) <> 0 OR sum(i.in_transit_units) <> 0
    ORDER BY 1, 2
$$;
"""

# A movement in the same second as a count comes before the count. Counts in one second are ordered
# by id. `heard_at` estimates the key's stream time at the arrival of the row (docs/domain.md 3.1).
# For a live key it is the time of the write, for a replayed key the newest business time so far.
FACTS = """
CREATE FUNCTION retail.stock_facts(key text, until timestamptz DEFAULT 'infinity')
RETURNS TABLE (place bigint, table_name text, row_id bigint, business_at timestamptz,
    recorded_at timestamptz, heard_at timestamptz, cause text, kind text, document text,
    actor text, counted_units bigint, delta_units bigint, running_units bigint,
    unavailable_units bigint, is_before_count boolean)
LANGUAGE sql STABLE AS $$
    WITH fact AS (
        SELECT m.table_name, m.row_id, m.business_at, m.recorded_at, m.cause, m.kind, m.document,
            m.actor, NULL::bigint AS counted_units, m.on_hand_units, m.unavailable_units
        FROM retail.movement m WHERE m.inv_key = key
        UNION ALL
        SELECT 'stock_count', c.row_id, c.business_at, c.recorded_at, 'count', c.kind || ' count',
            'count ' || c.row_id, c.actor, c.units, NULL, 0
        FROM retail.approved_count c WHERE c.inv_key = key
    ), heard AS (
        SELECT fact.*, CASE WHEN clock.is_replayed
            THEN max(fact.business_at) OVER (ORDER BY fact.recorded_at, fact.row_id)
            ELSE fact.recorded_at END AS heard_at
        FROM fact CROSS JOIN (SELECT EXISTS (SELECT FROM retail.item_location i
            WHERE i.inv_key = key AND i.clock_mode = 'replayed') AS is_replayed) clock
    ), ordered AS (
        SELECT heard.*, row_number() OVER placed AS place, count(heard.counted_units) OVER placed
            AS stretch
        FROM heard WHERE heard.business_at <= until
        WINDOW placed AS (ORDER BY heard.business_at, heard.counted_units IS NOT NULL,
                          heard.row_id, heard.table_name ROWS UNBOUNDED PRECEDING)
    ), running AS (
        SELECT ordered.*, (sum(coalesce(ordered.counted_units, ordered.on_hand_units)) OVER
            (PARTITION BY ordered.stretch ORDER BY ordered.place))::bigint AS running_units
        FROM ordered
    )
    SELECT r.place, r.table_name, r.row_id, r.business_at, r.recorded_at, r.heard_at, r.cause,
        r.kind, r.document, r.actor, r.counted_units,
        r.running_units - coalesce(lag(r.running_units) OVER (ORDER BY r.place), 0),
        r.running_units, r.unavailable_units, r.stretch < max(r.stretch) OVER ()
    FROM running r
$$;
"""

SPLIT = """
CREATE FUNCTION retail.stock_split(key text, until timestamptz DEFAULT 'infinity')
RETURNS TABLE (cause text, units bigint, facts bigint, detail text, count_id bigint,
    counted_at timestamptz, actor text)
LANGUAGE sql STABLE AS $$
    WITH counted AS (
        SELECT c.* FROM retail.approved_count c
        WHERE c.inv_key = key AND c.business_at <= until
        ORDER BY c.business_at DESC, c.row_id DESC LIMIT 1
    ), since AS (
        SELECT m.cause, m.kind, sum(m.on_hand_units)::bigint AS units, count(*) AS facts
        FROM retail.movement m
        WHERE m.inv_key = key AND m.business_at <= until
            AND m.business_at > coalesce((SELECT c.business_at FROM counted c), '-infinity')
        GROUP BY m.cause, m.kind
    ), causes AS (
        SELECT c.place, c.cause, coalesce(sum(s.units), 0)::bigint AS units,
            coalesce(sum(s.facts), 0)::bigint AS facts,
            coalesce(string_agg(s.kind || ' ' || s.units, ', ' ORDER BY s.kind)
                FILTER (WHERE s.kind <> 'sale' AND s.kind <> 'receipt'), '') AS detail
        FROM unnest(ARRAY['sales', 'returns', 'receipts', 'transfers', 'adjustments'])
            WITH ORDINALITY c (cause, place)
        LEFT JOIN since s USING (cause) GROUP BY c.place, c.cause
    )
    (SELECT 'count', c.units, 1::bigint, c.kind, c.row_id, c.business_at, c.actor FROM counted c)
    UNION ALL
    (SELECT s.cause, s.units, s.facts, s.detail, NULL, NULL, NULL FROM causes s ORDER BY s.place)
$$;
"""

WHEREABOUTS = """
CREATE FUNCTION retail.whereabouts(wanted_location text, wanted_sku text)
RETURNS TABLE (location_known boolean, sku_locations text[], similar_skus text[], locations text[])
LANGUAGE sql STABLE AS $$
    WITH ranged AS (SELECT i.location, i.sku FROM retail.item_location i),
    places AS (SELECT code FROM retail.location UNION SELECT r.location FROM ranged r)
    SELECT EXISTS (SELECT FROM places p WHERE p.code = wanted_location),
        ARRAY(SELECT r.location FROM ranged r WHERE r.sku = wanted_sku ORDER BY 1 LIMIT 5),
        ARRAY(SELECT r.sku FROM ranged r WHERE r.location = wanted_location
            AND lower(r.sku) = lower(wanted_sku) ORDER BY 1 LIMIT 5),
        ARRAY(SELECT p.code FROM places p ORDER BY 1 LIMIT 5)
$$;
"""

GRANTS = """
GRANT SELECT ON retail.movement, retail.approved_count, retail.inbound TO app_rw, app_ro;
"""

REVERSE = """
DROP FUNCTION retail.whereabouts(text, text);
DROP FUNCTION retail.stock_split(text, timestamptz);
DROP FUNCTION retail.stock_facts(text, timestamptz);
DROP FUNCTION retail.inbound_documents(text);
DROP VIEW retail.inbound, retail.approved_count, retail.movement;
DROP FUNCTION retail.inbound_of(retail.purchase_order_line), retail.inbound_of(retail.shipment_line);
DROP FUNCTION retail.movement_of(retail.sale_line), retail.movement_of(retail.shipment_line),
    retail.movement_of(retail.stock_adjustment);
DROP FUNCTION retail.business_at(timestamptz, timestamptz);
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0013_scorecard")]
    operations = [
        migrations.RunSQL(
            [
                BUSINESS + MOVEMENTS + MOVEMENT + COUNTS + INBOUND,
                DOCUMENTS + FACTS + SPLIT + WHEREABOUTS + GRANTS,
            ],
            [REVERSE],
        )
    ]
