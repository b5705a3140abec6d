"""Publication, replica identity and grants for change capture and the roles.

REPLICA IDENTITY FULL puts all columns of a deleted row into its record, `inv_key` included. With
the default identity the record would have only the id, and made-up values in the other columns.
"""

from importlib import import_module

from django.db import migrations

CAPTURED = import_module("ledger.migrations.0004_triggers").CAPTURED
REFERENCE = ("product", "location", "supplier")
PUBLISHED = (*CAPTURED, *REFERENCE, "debezium_signal")

FORWARD = (
    "".join(f"ALTER TABLE retail.{name} REPLICA IDENTITY FULL;\n" for name in PUBLISHED)
    + f"CREATE PUBLICATION retail_cdc FOR TABLE {', '.join(f'retail.{n}' for n in PUBLISHED)};\n"
    + """
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA retail TO app_rw;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA retail TO app_rw;
REVOKE UPDATE, DELETE ON retail.price_change FROM app_rw;
REVOKE ALL ON retail.debezium_signal FROM app_rw;
GRANT SELECT ON ALL TABLES IN SCHEMA retail TO app_ro, cdc;
REVOKE TRUNCATE ON ALL TABLES IN SCHEMA retail FROM PUBLIC, app_rw, app_ro, cdc;
"""
)
REVERSE = """
REVOKE ALL ON ALL TABLES IN SCHEMA retail FROM app_rw, app_ro, cdc;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA retail FROM app_rw;
DROP PUBLICATION retail_cdc;
""" + "".join(f"ALTER TABLE retail.{name} REPLICA IDENTITY DEFAULT;\n" for name in PUBLISHED)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_triggers")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
