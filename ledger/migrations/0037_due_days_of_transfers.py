"""Let `inbound_documents` return the due days of transfers, too, for the item page."""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("ledger.migrations.0014_movements").DOCUMENTS.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)
FORWARD = BEFORE.replace("        o.due_on,\n", "        coalesce(o.due_on, s.due_on),\n")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0036_events_by_statement")]
    operations = [migrations.RunSQL([FORWARD], [BEFORE])]
