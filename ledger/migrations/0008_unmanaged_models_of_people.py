"""Django's models of prices, decisions, references and proposals, as state only."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0007_unmanaged_models"),
    ]

    operations = [
        migrations.CreateModel(
            name="ActionLog",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("actor", models.TextField(null=True)),
                ("action", models.TextField()),
                ("subject", models.TextField()),
                ("detail", models.JSONField()),
                ("command_id", models.UUIDField(null=True)),
            ],
            options={
                "db_table": "action_log",
                "ordering": ["-id"],
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Location",
            fields=[
                ("code", models.TextField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("kind", models.TextField(default="store")),
            ],
            options={
                "db_table": "location",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PipelineHeartbeat",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("recorded_at", models.DateTimeField(editable=False)),
                ("recorded_by", models.TextField(null=True)),
                ("beat", models.BigIntegerField()),
                ("occurred_at", models.DateTimeField()),
            ],
            options={
                "db_table": "pipeline_heartbeat",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PriceChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("recorded_at", models.DateTimeField(editable=False)),
                ("recorded_by", models.TextField(null=True)),
                ("effective_from", models.DateTimeField()),
                ("price_minor", models.BigIntegerField()),
                ("step", models.IntegerField(default=0)),
                ("kind", models.TextField()),
                ("proposal_id", models.TextField(null=True, unique=True)),
                ("floor_minor", models.BigIntegerField()),
            ],
            options={
                "db_table": "price_change",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PriceDecision",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("recorded_at", models.DateTimeField(editable=False)),
                ("recorded_by", models.TextField(null=True)),
                ("proposal_id", models.TextField()),
                ("action", models.TextField()),
                ("until_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(null=True)),
                ("price_revision", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "price_decision",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PriceProposal",
            fields=[
                ("opened_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("decided_action", models.TextField(null=True)),
                ("decided_by", models.TextField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("proposal_id", models.TextField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("revision", models.IntegerField()),
                ("status", models.TextField()),
                ("old_minor", models.BigIntegerField()),
                ("new_minor", models.BigIntegerField()),
                ("regular_minor", models.BigIntegerField()),
                ("floor_minor", models.BigIntegerField()),
                ("step", models.IntegerField()),
                ("signal", models.TextField()),
                (
                    "clamps",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("effective_at_us", models.BigIntegerField()),
                ("prior_minor", models.BigIntegerField(null=True)),
                ("reason", models.TextField(null=True)),
                ("terms", models.JSONField()),
                ("logic_revision", models.IntegerField()),
                ("position", models.JSONField()),
                ("as_of_us", models.BigIntegerField()),
            ],
            options={
                "db_table": "price_proposal",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Product",
            fields=[
                ("code", models.TextField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("department", models.TextField(default="")),
            ],
            options={
                "db_table": "product",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="ReorderDecision",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("recorded_at", models.DateTimeField(editable=False)),
                ("recorded_by", models.TextField(null=True)),
                ("reorder_id", models.TextField()),
                ("action", models.TextField()),
                ("until_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(null=True)),
                ("need_revision", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "reorder_decision",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="ReorderProposal",
            fields=[
                ("opened_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("decided_action", models.TextField(null=True)),
                ("decided_by", models.TextField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("reorder_id", models.TextField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("supplier", models.TextField(null=True)),
                ("revision", models.IntegerField()),
                ("status", models.TextField()),
                ("quantity_units", models.BigIntegerField(null=True)),
                ("base_position_units", models.BigIntegerField()),
                ("reorder_point_units", models.BigIntegerField(null=True)),
                ("order_up_to_units", models.BigIntegerField(null=True)),
                (
                    "flags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("reason", models.TextField(null=True)),
                ("terms", models.JSONField()),
                ("cost_minor", models.BigIntegerField()),
                ("logic_revision", models.IntegerField()),
                ("position", models.JSONField()),
                ("as_of_us", models.BigIntegerField()),
                ("decided_units", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "reorder_proposal",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Setting",
            fields=[
                ("id", models.IntegerField(primary_key=True, serialize=False)),
                ("price_kill_switch", models.BooleanField(default=False)),
                ("updated_by", models.TextField(null=True)),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "setting",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Supplier",
            fields=[
                ("code", models.TextField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("is_active", models.BooleanField(default=True)),
            ],
            options={
                "db_table": "supplier",
                "managed": False,
            },
        ),
    ]
