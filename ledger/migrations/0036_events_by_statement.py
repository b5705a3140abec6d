"""Write the events of proposals once per statement (decisions 0043, 0065).

The triggers of migration 0030 run at the commit once per changed row, and read the proposal again.
This migration replaces them. Each statement that inserts or changes proposals adds a row to
`decision_change`, with the ids of these proposals and the kind of each change. At the commit, a
deferred trigger turns such a row into events, under the lock of the action chain, and deletes the
row. So the table is empty between transactions, and needs no WAL.

An INSERT with ON CONFLICT adds two rows: first one for the updated proposals, then one for the
inserted proposals. So the event of a closed need comes before the event of the need that replaces
it.
"""

from importlib import import_module
from typing import Final

from django.db import migrations

_LOCK: Final = "PERFORM pg_advisory_xact_lock(hashtextextended('app.action_chain', 0));"
_DEFINER: Final = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
# All columns except `terms` and `position`. The columns are listed, because to remove these two
# from the JSON of a complete row would take as long as to make the JSON.
_NEED: Final = """
    reorder_id, inv_key, location, sku, supplier, revision, status, quantity_units,
    base_position_units, reorder_point_units, order_up_to_units, flags, reason, cost_minor,
    logic_revision, as_of_us, decided_units, opened_at, updated_at, decided_action, decided_by,
    decided_at"""
_PRICE: Final = """
    proposal_id, inv_key, location, sku, revision, status, old_minor, new_minor, regular_minor,
    floor_minor, step, signal, clamps, effective_at_us, prior_minor, reason, logic_revision,
    as_of_us, opened_at, updated_at, decided_action, decided_by, decided_at"""
_KINDS: Final = (
    ("need", "app.reorder_proposal", "reorder_id", _NEED),
    ("price", "app.price_proposal", "proposal_id", _PRICE),
)


def _functions(kind: str, table: str, key: str, columns: str) -> str:
    return f"""
CREATE FUNCTION app.note_opened_{kind}() RETURNS trigger LANGUAGE plpgsql {_DEFINER} AS $$
BEGIN
    INSERT INTO app.decision_change (kind, subjects, changes)
    SELECT '{kind}', array_agg({key} ORDER BY place), array_agg(change ORDER BY place)
    FROM (SELECT row_number() OVER () AS place, {key}, CASE status
            WHEN 'open' THEN 'opened' WHEN 'snoozed' THEN 'snoozed' ELSE 'closed' END AS change
          FROM written) changed
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION app.note_changed_{kind}() RETURNS trigger LANGUAGE plpgsql {_DEFINER}
-- Postgres keeps the plan of a first call with one row, for calls with thousands.
SET enable_nestloop = off AS $$
BEGIN
    INSERT INTO app.decision_change (kind, subjects, changes)
    SELECT '{kind}', array_agg(n.{key} ORDER BY n.place), array_agg(CASE
        WHEN n.decided_at IS DISTINCT FROM o.decided_at THEN 'decided'
        WHEN n.status NOT IN ('open', 'snoozed') THEN 'closed'
        WHEN n.status = 'snoozed' THEN 'snoozed'
        WHEN o.status <> 'open' THEN 'opened'
        ELSE 'revised' END ORDER BY n.place)
    FROM (SELECT row_number() OVER () AS place, * FROM written) n JOIN former o USING ({key})
    WHERE (o.revision, o.status, o.decided_at, o.logic_revision) IS DISTINCT FROM
          (n.revision, n.status, n.decided_at, n.logic_revision)
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION app.write_{kind}_events() RETURNS trigger LANGUAGE plpgsql {_DEFINER}
-- Look up each proposal by its key. Postgres could keep a plan that it made for a small table.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    {_LOCK}
    -- As they are at the commit: an approval writes its units after its decision.
    INSERT INTO app.decision_event (kind, subject, change, inv_key, location, sku, proposal)
    SELECT '{kind}', p.{key}, c.change, p.inv_key, p.location, p.sku, to_jsonb(p)
    FROM unnest(NEW.subjects, NEW.changes) WITH ORDINALITY AS c (subject, change, place)
    JOIN (SELECT {columns} FROM {table}) p ON p.{key} = c.subject ORDER BY c.place;
    DELETE FROM app.decision_change WHERE id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION app.note_opened_{kind}(), app.note_changed_{kind}(),
    app.write_{kind}_events() FROM PUBLIC;
CREATE TRIGGER {kind}_opened AFTER INSERT ON {table} REFERENCING NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION app.note_opened_{kind}();
CREATE TRIGGER {kind}_changed AFTER UPDATE ON {table}
    REFERENCING OLD TABLE AS former NEW TABLE AS written
    FOR EACH STATEMENT EXECUTE FUNCTION app.note_changed_{kind}();
CREATE CONSTRAINT TRIGGER write_{kind}_events AFTER INSERT ON app.decision_change
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.kind = '{kind}')
    EXECUTE FUNCTION app.write_{kind}_events();
"""


_DROP: Final = "".join(
    f"DROP TRIGGER {kind}_opened ON {table};\nDROP TRIGGER {kind}_changed ON {table};\n"
    for kind, table, *_ in _KINDS
)
FORWARD = f"""
{_DROP}
DROP FUNCTION app.write_decision_event();
CREATE UNLOGGED TABLE app.decision_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    subjects text[] NOT NULL,
    changes text[] NOT NULL
);
REVOKE ALL ON app.decision_change FROM app_rw, sink_rw, app_ro;
{"".join(_functions(*kind) for kind in _KINDS)}
"""
REVERSE = f"""
{_DROP}
DROP TABLE app.decision_change;
DROP FUNCTION app.note_opened_need(), app.note_changed_need(), app.write_need_events();
DROP FUNCTION app.note_opened_price(), app.note_changed_price(), app.write_price_events();
{import_module("ledger.migrations.0030_api").EVENTS}
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0035_letters_of_skus")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
