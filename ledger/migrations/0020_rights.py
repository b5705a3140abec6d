"""The privileges of each role on each table; only the owner's role has more (docs/security.md).

* `app_rw` is for pages, jobs and commands. It inserts facts, and updates those columns of a fact
  that may change by the rules of docs/domain.md.
* `sink_rw` is for projector and actuator. They write the read model and the proposals, from the
  records of the workers in Kafka.
* `archiver` writes the archiver's heartbeat row.

A trigger lets `app_rw` delete draft lines and planned transfers, but no sent line and no shipped
transfer. It lets the owner delete all rows, so that a damaged database can be repaired.
"""

from typing import Final

from django.db import migrations

READ: Final = "SELECT"
ADD: Final = "SELECT, INSERT"
ALL: Final = "SELECT, INSERT, UPDATE, DELETE"


def add_and_change(*columns: str) -> str:
    """Return the privileges to read, to insert and to update these columns."""
    return f"SELECT, INSERT, UPDATE ({', '.join(columns)})"


DECIDED: Final = ("decided_action", "decided_by", "decided_at")
APP: Final = {
    "retail.sale_line": ADD,
    "retail.stock_adjustment": ADD,
    "retail.price_change": ADD,
    "retail.reorder_decision": ADD,
    "retail.price_decision": ADD,
    "retail.product": ADD,
    "retail.location": ADD,
    "retail.stock_count": add_and_change(
        *("status", "counted_by", "approved_by", "expected_units", "recount_asked", "recorded_by")
    ),
    "retail.purchase_order_line": add_and_change(
        *("status", "ordered_units", "confirmed_units", "cancelled_units", "ordered_at"),
        *("due_on", "recorded_by"),
    )
    + ", DELETE",
    "retail.shipment_line": add_and_change(
        *("status", "shipped_units", "received_units", "damaged_units", "order_units"),
        *("shipped_at", "received_at", "discrepancy_reason", "due_on", "recorded_by"),
    )
    + ", DELETE",
    # Nearly all columns of a policy may change, so the right is for the table; a trigger protects
    # id and key.
    "retail.item_location": "SELECT, INSERT, UPDATE",
    "retail.supplier": add_and_change(
        *("is_active", "email", "address", "minimum_order_minor", "order_days_mask"),
        "lead_time_centidays",
    ),
    "retail.pipeline_heartbeat": add_and_change("beat", "occurred_at"),
    "retail.movement": READ,
    "retail.approved_count": READ,
    "retail.inbound": READ,
    "app.reorder_proposal": f"SELECT, UPDATE ({', '.join(DECIDED)}, decided_units)",
    "app.price_proposal": f"SELECT, UPDATE ({', '.join(DECIDED)})",
    "app.setting": "SELECT, UPDATE (price_kill_switch, adjustment_limit_minor, updated_by,"
    " updated_at)",
    "app.command": add_and_change("result"),
    "app.action_log": "SELECT, INSERT (actor, action, subject, detail, command_id)",
    "app.purchase_order": add_and_change("supplier", "sent_at", "sent_by"),
    "app.count_sheet": add_and_change("submitted_at"),
    "app.count_entry": add_and_change("is_undone", "count_id"),
    "app.adjustment_request": add_and_change(
        "status", "decided_by", "decided_at", "decision_reason", "adjustment_id"
    ),
    "app.task": ALL,
    "app.location_hour": ALL,
    "app.inbox_mark": "SELECT, INSERT, UPDATE",
    "app.rejected_mark": ADD,
    "app.scorecard": "SELECT, INSERT, UPDATE",
    "app.capture": "SELECT, UPDATE",
    "app.revision_switch": READ,
    "app.membership": "SELECT, INSERT, DELETE",
    "app.location_region": ALL,
    "app.invitation": "SELECT, INSERT, UPDATE",
    "app.login_count": ALL,
    "app.second_factor": ALL,
    "app.auth_user": "SELECT, INSERT, UPDATE",
    "app.auth_group": ADD,
    "app.auth_user_groups": "SELECT, INSERT, DELETE",
    "app.auth_user_user_permissions": READ,
    "app.auth_group_permissions": READ,
    "app.auth_permission": READ,
    "app.django_content_type": READ,
    "app.django_migrations": READ,
    "app.django_session": ALL,
}
READ_MODEL: Final = ("stock", "sales_window", "late_sale", "rejected", "sink_position", "heartbeat")
LIVES: Final = {"read_model.service_heartbeat": "SELECT, INSERT, UPDATE"}
SINK: Final = (
    {f"read_model.{name}": ALL for name in READ_MODEL}
    | LIVES
    | {
        # Not granted by column, because a promotion locks these tables. To lock a table, a role
        # needs the right to update the whole table.
        "app.reorder_proposal": "SELECT, INSERT, UPDATE",
        "app.price_proposal": "SELECT, INSERT, UPDATE",
        "app.revision_switch": ADD,
    }
)
PAGES: Final = APP | {f"read_model.{name}": READ for name in READ_MODEL} | LIVES
ROLES: Final = {"app_rw": PAGES, "sink_rw": SINK, "archiver": LIVES}

FIRST = """
DO $$
DECLARE wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['sink_rw', 'archiver'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I', wanted);
        END IF;
    END LOOP;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO sink_rw, archiver', current_database());
END $$;
REVOKE ALL ON ALL TABLES IN SCHEMA retail, app, read_model FROM app_rw, sink_rw, archiver;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA app, read_model TO sink_rw;
GRANT USAGE ON SCHEMA read_model TO archiver;
"""
GRANTS = "".join(
    f"GRANT {privileges} ON {table} TO {role};\n"
    for role, tables in ROLES.items()
    for table, privileges in tables.items()
)
STAYS = """
CREATE FUNCTION retail.refuse_delete_of_sent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION '% %: status %: only a draft or planned row is deleted; cancel it instead',
            TG_TABLE_NAME, OLD.id, OLD.status
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_sent_stays';
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER refuse_delete_of_sent BEFORE DELETE ON retail.purchase_order_line
    FOR EACH ROW WHEN (OLD.status <> 'draft') EXECUTE FUNCTION retail.refuse_delete_of_sent();
CREATE TRIGGER refuse_delete_of_sent BEFORE DELETE ON retail.shipment_line
    FOR EACH ROW WHEN (OLD.status <> 'planned') EXECUTE FUNCTION retail.refuse_delete_of_sent();
"""

REVERSE = """
DROP FUNCTION retail.refuse_delete_of_sent() CASCADE;
REVOKE ALL ON ALL TABLES IN SCHEMA retail, app, read_model FROM app_rw, sink_rw, archiver;
REVOKE USAGE ON SCHEMA app, read_model FROM sink_rw;
REVOKE USAGE ON SCHEMA read_model FROM archiver;
GRANT USAGE ON SCHEMA public TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA retail, app, read_model TO app_rw;
REVOKE INSERT, UPDATE, DELETE ON retail.movement, retail.approved_count, retail.inbound FROM app_rw;
REVOKE UPDATE, DELETE ON retail.price_change, app.command, app.action_log, app.revision_switch,
    app.rejected_mark FROM app_rw;
REVOKE ALL ON retail.debezium_signal FROM app_rw;
REVOKE INSERT, DELETE ON app.setting FROM app_rw;
REVOKE DELETE ON app.count_sheet, app.count_entry, app.adjustment_request FROM app_rw;
GRANT UPDATE (result) ON app.command TO app_rw;
DO $$
BEGIN
    EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM sink_rw, archiver', current_database());
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0019_ranges"),
        ("readmodel", "0004_capture"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("sessions", "0001_initial"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunSQL([FIRST + GRANTS + STAYS], [REVERSE])]
