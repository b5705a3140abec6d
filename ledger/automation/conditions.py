"""The conditions of tasks, one SQL query for each kind of task (docs/domain.md 8).

The subject of a task is what the task is about: usually an item's key, for some kinds a location,
a source of facts or the pipeline. Each query returns one row per subject that needs a task now,
with key, location and SKU. Column `detail` has the figures that the task shows to a person. Nothing
here opens or clears a task; `ledger.automation.tasks` does that, in the same way for all kinds.

A query that reads every item has the placeholder `{items}` as a condition. A refresh replaces it
with the SQL of a `tasks.Scope`: all items, those of one location, or those with an open task.

`%(now)s` is the time of the evaluation. Quotients use Postgres' `div` on whole numbers, so they are
exact. Tests check the values just below and just above each limit.
"""

from typing import Final, NamedTuple

from inventory.model.arithmetic import DAY_US, WINDOW_US
from inventory.reports.conditions import SILENT_DAYS, SILENT_LINES
from ledger.access import roles
from ledger.tasks import kinds
from ledger.transfers.stuck import TRANSFER_DUE_ON, stuck_sql

ITEMS: Final = "{items}"  # the placeholder of a query that reads every item
# Parameters that every query may use in addition to `%(now)s`. `lambda_micro` is the default
# threshold of phantom suspects: 4.6 expected units, of which none was sold.
CONSTANTS: Final = {
    "lambda_micro": 4_605_170,
    "window_us": WINDOW_US,
    "day_us": DAY_US,
    "silent_days": SILENT_DAYS,
    "silent_lines": SILENT_LINES * SILENT_DAYS,
}


class TaskQuery(NamedTuple):
    """A kind of task: its name, the role that handles it, and the query of its condition.

    A task opens when the query has returned its subject for `delay_s` seconds without a gap.
    """

    name: str
    role: str
    rows: str
    delay_s: int = 0
    # True for a slow query that doesn't read every item. It runs every 30 s instead of every 5 s.
    is_slow: bool = False

    @property
    def reads_every_item(self) -> bool:
        """Return True if the query would read every item. A refresh restricts it to a scope."""
        return ITEMS in self.rows


NEGATIVE_STOCK: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('on_hand_units', s.on_hand_units) AS detail
FROM read_model.stock s WHERE s.on_hand_units < 0 AND s.stock_known
"""

# An item with an approved count of the last 60 s gets no task, because the read model may not
# include that count yet.
NOT_COUNTED: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('on_hand_units', s.on_hand_units) AS detail
FROM read_model.stock s
WHERE {items} AND s.policy_active AND NOT s.stock_known AND NOT EXISTS (
    SELECT FROM retail.stock_count c
    WHERE c.inv_key = s.inv_key AND c.status = 'approved'
      AND c.recorded_at > %(now)s - interval '60 s')
"""

# The task asks for a policy for the item. The read model contains the item for ever, even after all
# of its facts were deleted or voided. An item without facts needs no policy. So the query also
# requires that the ledger has a fact with an effect (`app.is_item`). The stock list calls the same
# function.
UNKNOWN_ITEM: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('on_hand_units', s.on_hand_units) AS detail
FROM read_model.stock s
WHERE {items} AND NOT s.policy_active
  AND NOT EXISTS (SELECT FROM retail.item_location i WHERE i.inv_key = s.inv_key)
  AND app.is_item(s.inv_key)
"""

# A trading window is a window of ten minutes in which the store is open. N is the number of trading
# windows a day, from the policy. `unanswered` is the number of trading windows without a sale since
# the day of the last count. The task opens if floor(rate_at_last_sale * unanswered / N) reaches the
# item's threshold. `quiet_windows` covers only complete days, so the query also requires that the
# present day has no sale.
#
# A state has 3 KB of JSON, and its parser would take most of the time. So the inner query cuts two
# short texts out of each state: the demand, near its beginning, and N. OFFSET 0 lets Postgres
# compute each value once per item. States of another form, which an early release wrote, are
# parsed.
#
# Two CASE expressions skip work. The first one parses the whole state, for its last count, only if
# the item would be suspect without a count. The second one reads the sales of today only if the
# item is suspect with that count.
PHANTOM_SUSPECT: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object(
    'on_hand_units', s.on_hand_units, 'lambda_micro', found.lambda_micro,
    'threshold_micro', s.threshold_micro, 'quiet_windows', quiet.unanswered,
    'rate_micro', known.rate_micro, 'last_count', quiet.last_count) AS detail
FROM (
    SELECT s.inv_key, s.location, s.sku, s.on_hand_units, s.state,
        CASE WHEN cut.demand <> '' THEN ('{' || cut.demand || '}')::json
            ELSE s.state::json -> 'demand' END AS demand,
        coalesce(CASE WHEN cut.demand <> ''
            THEN substring(split_part(s.state, '"trading_windows":', 2) FROM '^[0-9]+')
            ELSE s.state::json -> 'policy' ->> 'trading_windows' END::numeric, 144) AS a_day,
        coalesce((SELECT i.phantom_lambda_micro FROM retail.item_location i
            WHERE i.inv_key = s.inv_key), %(lambda_micro)s) AS threshold_micro,
        div(s.stream_time_us - %(window_us)s::numeric, %(day_us)s) AS open_day
    FROM read_model.stock s
    CROSS JOIN LATERAL (SELECT
        split_part(split_part(left(s.state, 1000), ',"demand":{', 2), '}', 1) AS demand
        OFFSET 0) cut
    WHERE {items} AND s.on_hand_units > 0 AND s.stock_known
    OFFSET 0
) s
CROSS JOIN LATERAL json_to_record(s.demand)
    AS demand (rate_at_last_sale_micro numeric, quiet_windows numeric)
CROSS JOIN LATERAL (SELECT
    demand.rate_at_last_sale_micro AS rate_micro,
    CASE WHEN div(demand.rate_at_last_sale_micro * demand.quiet_windows, s.a_day)
        >= s.threshold_micro THEN app.last_count(s.state::jsonb -> 'stock') END AS count
    OFFSET 0
) known
CROSS JOIN LATERAL (SELECT
    (known.count ->> 'id')::bigint AS last_count,
    least(demand.quiet_windows, s.a_day * greatest(0,
        s.open_day - 1 - div((known.count ->> 'at_us')::numeric, %(day_us)s))) AS unanswered
) quiet
CROSS JOIN LATERAL (SELECT
    div(known.rate_micro * quiet.unanswered, s.a_day) AS lambda_micro
) found
WHERE CASE WHEN found.lambda_micro >= s.threshold_micro THEN NOT EXISTS (
    SELECT FROM read_model.sales_window w
    WHERE w.inv_key = s.inv_key AND w.sold_units > 0
      AND w.start_us >= s.open_day * %(day_us)s) ELSE false END
"""

# A draft count needs a second blind count if its variance is above the tolerance. An approved count
# is compared again for three days, because late facts change the expected units. No task opens if
# the variance was above the tolerance at the approval already, because the approver accepted it.
COUNT_VARIANCE: Final = """
SELECT DISTINCT ON (c.inv_key) c.inv_key AS subject, c.inv_key, c.location, c.sku,
    jsonb_build_object('count', c.id, 'status', c.status, 'counted_units', c.units,
        'expected_units', now.expected_units, 'variance_units', c.units - now.expected_units,
        'counted_by', coalesce(c.counted_by, c.recorded_by)) AS detail
FROM retail.stock_count c
CROSS JOIN LATERAL (SELECT retail.business_at(c.occurred_at, c.recorded_at) AS at) business
CROSS JOIN LATERAL app.expected_at(c.inv_key, business.at, c.id) AS now
WHERE c.status IN ('draft', 'approved') AND c.kind <> 'opening' AND now.stock_known
  AND c.recorded_at > %(now)s - interval '4 days'
  AND business.at >= date_trunc('day', %(now)s, 'UTC') - interval '3 days'
  AND abs(c.units - now.expected_units) > app.count_tolerance(now.expected_units)
  AND NOT (c.status = 'approved' AND c.approved_by IS NOT NULL
           AND abs(c.units - c.expected_units) > app.count_tolerance(c.expected_units))
  AND NOT EXISTS (
      SELECT FROM app.task t
      WHERE t.kind = 'count_variance' AND t.subject = c.inv_key
        AND t.cleared_why = 'acknowledged' AND t.detail ->> 'count' = c.id::text)
ORDER BY c.inv_key, business.at DESC, c.id DESC
"""

COUNT_AGAIN: Final = """
SELECT DISTINCT ON (r.inv_key) r.inv_key AS subject, r.inv_key,
    split_part(r.inv_key, '|', 1) AS location, split_part(r.inv_key, '|', 2) AS sku,
    jsonb_build_object('record', r.id, 'seen_at', r.seen_at) AS detail
FROM (SELECT id, seen_at, app.key_text(key) AS inv_key, to_timestamp(commit_us / 1000000.0) AS at
      FROM read_model.rejected WHERE reason = 'count_beyond_horizon') r
WHERE NOT EXISTS (SELECT FROM app.rejected_mark m WHERE m.record_id = r.id)
  AND NOT EXISTS (SELECT FROM retail.stock_count c
                  WHERE c.inv_key = r.inv_key AND c.status = 'approved' AND c.recorded_at > r.at)
ORDER BY r.inv_key, r.seen_at DESC
"""

OVERDUE_RECEIPT: Final = """
SELECT o.inv_key AS subject, o.inv_key, o.location, o.sku,
    jsonb_build_object('due_on', min(o.due_on), 'open_units', sum(due.open_units),
        'orders', jsonb_agg(DISTINCT o.order_ref), 'supplier', min(o.supplier)) AS detail
FROM retail.purchase_order_line o
CROSS JOIN LATERAL (
    SELECT coalesce(o.confirmed_units, o.ordered_units) - o.cancelled_units
        - coalesce(sum(i.order_units), 0)::bigint AS open_units
    FROM retail.shipment_line i
    WHERE i.purchase_order_line_id = o.id AND i.leg = 'supplier_in' AND i.status = 'received'
) due
WHERE o.status IN ('sent', 'confirmed') AND due.open_units > 0
  AND o.due_on + 1 <= (%(now)s AT TIME ZONE 'UTC')::date
GROUP BY o.inv_key, o.location, o.sku
"""

# The goods may be at the source or at the destination, so each of the two locations gets a task.
STUCK_TRANSFER: Final = f"""
SELECT side.inv_key AS subject, side.inv_key, side.location, side.sku,
    jsonb_build_object('due_on', min({TRANSFER_DUE_ON}), 'shipped_units', sum(a.shipped_units),
        'transfers', jsonb_agg(DISTINCT coalesce(a.transfer_ref, 'line ' || a.id))) AS detail
FROM retail.shipment_line a
LEFT JOIN retail.item_location il ON il.inv_key = a.inv_key
CROSS JOIN LATERAL (
    SELECT a.inv_key, a.location, a.sku
    UNION SELECT o.inv_key, o.location, o.sku FROM retail.shipment_line o
    WHERE o.transfer_ref = a.transfer_ref AND o.sku = a.sku AND o.leg = 'transfer_out'
) side
WHERE a.leg = 'transfer_in' AND {stuck_sql("%(now)s")}
GROUP BY side.inv_key, side.location, side.sku
"""  # noqa: S608 -- constants of this project

# The task opens for a need that has waited for 24 hours. The 24 hours begin when the need opened or
# when a person last decided about it, whichever is later. After a snooze, they begin at the end of
# the snooze: the time that the person chose, or else 7 days after the snooze. If the workers ended
# the snooze earlier, because the policy changed, `updated_at` is its end.
STUCK_SIGNAL: Final = """
SELECT DISTINCT ON (p.inv_key) p.inv_key AS subject, p.inv_key, p.location, p.sku,
    jsonb_build_object('reorder', p.reorder_id, 'quantity_units', p.quantity_units,
        'since', waits.since) AS detail
FROM app.reorder_proposal p
CROSS JOIN LATERAL (SELECT greatest(p.opened_at, p.decided_at, CASE
    WHEN p.decided_action = 'snooze' THEN least(p.updated_at, coalesce((
        SELECT d.until_at FROM retail.reorder_decision d
        WHERE d.inv_key = p.inv_key AND d.reorder_id = p.reorder_id AND d.action = 'snooze'
        ORDER BY d.id DESC LIMIT 1), p.decided_at + interval '7 days')) END) AS since) waits
WHERE p.status = 'open' AND coalesce(p.decided_action, '') NOT IN ('approve', 'reject')
  AND waits.since <= %(now)s - interval '24 hours'
ORDER BY p.inv_key, p.opened_at
"""

MISSING_PROPOSAL: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('reorder', r.id, 'price', p.id) AS detail
FROM read_model.stock s
CROSS JOIN LATERAL (SELECT CASE WHEN s.episode_state = 'open' AND NOT EXISTS (
    SELECT FROM app.reorder_proposal p WHERE p.reorder_id = s.reorder_id
) THEN s.reorder_id END AS id) r
CROSS JOIN LATERAL (SELECT CASE WHEN NOT EXISTS (
    SELECT FROM app.price_proposal p WHERE p.proposal_id = s.price_proposal_id
) THEN s.price_proposal_id END AS id) p
WHERE (s.episode_state = 'open' OR s.price_proposal_id IS NOT NULL)
  AND (r.id IS NOT NULL OR p.id IS NOT NULL)
"""

HELD_AT_ZERO: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('hold', s.episode_state,
    'available_units', s.available_to_sell_units, 'on_order_units', s.on_order_units) AS detail
FROM read_model.stock s
WHERE s.episode_state IN ('held-snoozed', 'held-rejected', 'held-short')
  AND s.available_to_sell_units <= 0
"""

NEGATIVE_BUCKET: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('on_order_units', s.on_order_units,
    'unavailable_units', s.unavailable_units) AS detail
FROM read_model.stock s WHERE s.on_order_units < 0 OR s.unavailable_units < 0
"""

# The task opens only if two prices are below the floor: the price in force at the key's last record
# (read model) and the price in force now (ledger).
FLOOR_BREACHED: Final = """
SELECT s.inv_key AS subject, s.inv_key, s.location, s.sku,
    jsonb_build_object('price_minor', force.price_minor, 'floor_minor', lowest.minor,
    'cost_minor', i.cost_minor) AS detail
FROM read_model.stock s
JOIN retail.item_location i ON i.inv_key = s.inv_key
CROSS JOIN LATERAL (SELECT div(i.cost_minor * 1000::numeric + 999 - i.margin_permille,
    1000 - i.margin_permille) AS minor) net
CROSS JOIN LATERAL (SELECT div(net.minor * (10000 + i.tax_bp) + 9999, 10000) AS minor) lowest
CROSS JOIN LATERAL (SELECT coalesce(
    (SELECT written.price_minor FROM retail.price_at(i.inv_key, %(now)s) AS written),
    i.regular_minor) AS price_minor) force
WHERE {items} AND i.status = 'active' AND i.price_mode <> 'off' AND i.regular_minor IS NOT NULL
  AND coalesce(s.price_minor, i.regular_minor) < lowest.minor AND force.price_minor < lowest.minor
"""

# A fact is ahead if its own time is more than 300 s later than its write (`recorded_at`). Three
# such facts within an hour open the task. The task stays open while the last hour has at least one.
SOURCE_CLOCK: Final = """
SELECT f.source AS subject, NULL AS inv_key,
    CASE WHEN min(f.location) = max(f.location) THEN min(f.location) END AS location, NULL AS sku,
    jsonb_build_object('source', f.source, 'facts', count(*),
        'most_s', max(extract(epoch FROM f.ahead))::bigint) AS detail
FROM (
    SELECT source, location, occurred_at - recorded_at AS ahead FROM retail.sale_line
    WHERE occurred_at - recorded_at > interval '300 s'
      AND recorded_at > %(now)s - interval '1 hour'
    UNION ALL
    SELECT coalesce(recorded_by, 'counts'), location, occurred_at - recorded_at
    FROM retail.stock_count
    WHERE occurred_at - recorded_at > interval '300 s'
      AND recorded_at > %(now)s - interval '1 hour'
    UNION ALL
    SELECT coalesce(recorded_by, 'adjustments'), location, occurred_at - recorded_at
    FROM retail.stock_adjustment
    WHERE occurred_at - recorded_at > interval '300 s'
      AND recorded_at > %(now)s - interval '1 hour'
    UNION ALL
    SELECT coalesce(recorded_by, 'shipments'), location,
        greatest(shipped_at, received_at) - recorded_at
    FROM retail.shipment_line
    WHERE greatest(shipped_at, received_at) - recorded_at > interval '300 s'
      AND recorded_at > %(now)s - interval '1 hour'
) f
GROUP BY f.source
HAVING count(*) >= CASE WHEN EXISTS (
    SELECT FROM app.task t
    WHERE t.kind = 'source_clock' AND t.subject = f.source AND t.cleared_at IS NULL
) THEN 1 ELSE 3 END
"""

# The silent hours of a location are the complete hours since its last sale line, at most the newest
# 24. The query counts the sale lines in the same hours of each of the seven days before. The task
# opens if the seven days together have at least 49 such lines, an average of 7 a day.
STALE_SOURCE: Final = """
SELECT last.location AS subject, NULL AS inv_key, last.location, NULL AS sku,
    jsonb_build_object(
        'silent_since', last.hour, 'lines_of_seven_days', sum(seen.lines)) AS detail
FROM (SELECT location, max(hour) AS hour FROM app.location_hour
      WHERE hour <= %(now)s GROUP BY location) last
CROSS JOIN LATERAL generate_series(
    greatest(last.hour, date_trunc('hour', %(now)s) - interval '25 hours') + interval '1 hour',
    date_trunc('hour', %(now)s) - interval '1 hour', interval '1 hour') AS silent (hour)
JOIN app.location_hour seen ON seen.location = last.location
    AND seen.hour IN (SELECT silent.hour - make_interval(hours => 24 * day)
                      FROM generate_series(1, %(silent_days)s) AS day)
GROUP BY last.location, last.hour
HAVING sum(seen.lines) >= %(silent_lines)s
"""

# A count that was rejected as too old needs no task after a newer approved count. Every other
# rejected record needs a person, who replays or dismisses it (`app.rejected_mark`).
REJECTED_RECORD: Final = """
SELECT r.subject, NULL AS inv_key,
    CASE WHEN r.subject ~ '^[A-Z0-9-]{1,24}[|]' THEN split_part(r.subject, '|', 1) END AS location,
    NULL AS sku, jsonb_build_object('records', count(*), 'reasons', jsonb_agg(DISTINCT r.reason),
        'first', min(r.id), 'since', min(r.seen_at)) AS detail
FROM (SELECT id, reason, seen_at, coalesce(app.key_text(key), 'no key') AS subject,
             to_timestamp(commit_us / 1000000.0) AS at FROM read_model.rejected) r
WHERE NOT EXISTS (SELECT FROM app.rejected_mark m WHERE m.record_id = r.id)
  AND NOT (r.reason = 'count_beyond_horizon' AND EXISTS (
      SELECT FROM retail.stock_count c
      WHERE c.inv_key = r.subject AND c.status = 'approved' AND c.recorded_at > r.at))
GROUP BY r.subject
"""

# The task opens if, in the read model, the newest heartbeat of a partition is more than 60 s old or
# missing. Two more conditions apply only to a missing heartbeat. First, the ledger has more than 60
# beats of that partition, so that a new installation opens no task. Second, the heartbeat service
# updated that partition's row in the last 60 s, or the read model has no heartbeat at all.
PIPELINE_STALE: Final = """
SELECT 'pipeline' AS subject, NULL AS inv_key, NULL AS location, NULL AS sku,
    jsonb_build_object('as_of', CASE WHEN never.partitions = 0 THEN newest.as_of END,
        'never_heard', never.partitions) AS detail
FROM (SELECT to_timestamp(min(commit_us) / 1000000.0) AS as_of, count(commit_us) AS partitions
      FROM read_model.heartbeat) newest
CROSS JOIN LATERAL (
    SELECT greatest(0, count(*) - newest.partitions) AS partitions FROM retail.pipeline_heartbeat
    WHERE beat > 60 AND (newest.partitions = 0 OR occurred_at > %(now)s - interval '60 s')) never
WHERE newest.as_of < %(now)s - interval '60 s' OR never.partitions > 0
"""

KINDS: Final = (
    TaskQuery(kinds.PIPELINE_STALE, roles.OPERATOR, PIPELINE_STALE),
    TaskQuery(kinds.REJECTED_RECORD, roles.OPERATOR, REJECTED_RECORD),
    TaskQuery(kinds.SOURCE_CLOCK, roles.OPERATOR, SOURCE_CLOCK),
    TaskQuery(kinds.STALE_SOURCE, roles.OPERATOR, STALE_SOURCE),
    TaskQuery(kinds.MISSING_PROPOSAL, roles.OPERATOR, MISSING_PROPOSAL, delay_s=60),
    TaskQuery(kinds.NEGATIVE_STOCK, roles.MANAGER, NEGATIVE_STOCK),
    TaskQuery(kinds.COUNT_AGAIN, roles.ASSOCIATE, COUNT_AGAIN),
    TaskQuery(kinds.OVERDUE_RECEIPT, roles.BUYER, OVERDUE_RECEIPT),
    TaskQuery(kinds.STUCK_TRANSFER, roles.MANAGER, STUCK_TRANSFER),
    TaskQuery(kinds.STUCK_SIGNAL, roles.LEAD, STUCK_SIGNAL),
    TaskQuery(kinds.HELD_AT_ZERO, roles.BUYER, HELD_AT_ZERO),
    TaskQuery(kinds.NEGATIVE_BUCKET, roles.BUYER, NEGATIVE_BUCKET),
    TaskQuery(kinds.NOT_COUNTED, roles.ASSOCIATE, NOT_COUNTED),
    TaskQuery(kinds.UNKNOWN_ITEM, roles.BUYER, UNKNOWN_ITEM),
    TaskQuery(kinds.FLOOR_BREACHED, roles.PRICING, FLOOR_BREACHED),
    TaskQuery(kinds.PHANTOM_SUSPECT, roles.ASSOCIATE, PHANTOM_SUSPECT),
    TaskQuery(kinds.COUNT_VARIANCE, roles.MANAGER, COUNT_VARIANCE, is_slow=True),
)
ROLES_WITH_TASKS: Final = frozenset(kind.role for kind in KINDS)
