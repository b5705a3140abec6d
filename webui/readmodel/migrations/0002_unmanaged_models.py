"""Django's models of the read model, as state only: the tables exist already."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("readmodel", "0001_read_model"),
    ]

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("partition", models.IntegerField(primary_key=True, serialize=False)),
                ("beat", models.BigIntegerField()),
                ("commit_us", models.BigIntegerField(null=True)),
                ("applied_at", models.DateTimeField()),
            ],
            options={
                "db_table": "heartbeat",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="LateSale",
            fields=[
                ("id", models.TextField(primary_key=True, serialize=False)),
                ("inv_key", models.TextField()),
                ("units", models.BigIntegerField()),
                ("amount_minor", models.BigIntegerField()),
                ("reason", models.TextField()),
                ("generation", models.IntegerField()),
                ("partition", models.IntegerField()),
                ("offset", models.BigIntegerField()),
                ("commit_us", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "late_sale",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Rejected",
            fields=[
                ("id", models.TextField(primary_key=True, serialize=False)),
                ("generation", models.IntegerField()),
                ("partition", models.IntegerField()),
                ("offset", models.BigIntegerField()),
                ("key", models.BinaryField(null=True)),
                ("value", models.BinaryField(null=True)),
                ("reason", models.TextField()),
                ("stage", models.TextField()),
                ("detail", models.TextField()),
                ("logic_revision", models.IntegerField()),
                ("commit_us", models.BigIntegerField(null=True)),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "db_table": "rejected",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="SalesWindow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "inv_key",
                        "start_us",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("inv_key", models.TextField()),
                ("start_us", models.BigIntegerField()),
                ("sold_units", models.BigIntegerField()),
                ("returned_units", models.BigIntegerField()),
                ("sale_lines", models.BigIntegerField()),
                ("return_lines", models.BigIntegerField()),
                ("revenue_minor", models.BigIntegerField()),
                ("late_lines", models.BigIntegerField()),
                ("window_revision", models.BigIntegerField()),
                ("partition", models.IntegerField()),
                ("offset", models.BigIntegerField()),
            ],
            options={
                "db_table": "sales_window",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="ServiceHeartbeat",
            fields=[
                ("service", models.TextField(primary_key=True, serialize=False)),
                ("pid", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("detail", models.JSONField()),
            ],
            options={
                "db_table": "service_heartbeat",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="SinkPosition",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "sink",
                        "topic",
                        "partition",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("sink", models.TextField()),
                ("topic", models.TextField()),
                ("partition", models.IntegerField()),
                ("next_offset", models.BigIntegerField()),
                ("as_of_us", models.BigIntegerField(null=True)),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "sink_position",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Stock",
            fields=[
                ("inv_key", models.TextField(primary_key=True, serialize=False)),
                ("location", models.TextField()),
                ("sku", models.TextField()),
                ("on_hand_units", models.BigIntegerField()),
                ("unavailable_units", models.BigIntegerField()),
                ("on_order_units", models.BigIntegerField()),
                ("in_transit_units", models.BigIntegerField()),
                ("allocated_units", models.BigIntegerField()),
                ("available_to_sell_units", models.BigIntegerField()),
                ("stock_known", models.BooleanField()),
                ("base_position_units", models.BigIntegerField()),
                ("requested_units", models.BigIntegerField()),
                ("reorder_point_units", models.BigIntegerField(null=True)),
                ("order_up_to_units", models.BigIntegerField(null=True)),
                ("demand_rate_micro", models.BigIntegerField(null=True)),
                ("price_minor", models.BigIntegerField(null=True)),
                ("price_step", models.IntegerField()),
                ("episode_state", models.TextField()),
                ("reorder_id", models.TextField(null=True)),
                ("price_proposal_id", models.TextField(null=True)),
                ("policy_active", models.BooleanField()),
                ("stream_time_us", models.BigIntegerField(null=True)),
                ("generation", models.IntegerField()),
                ("partition", models.IntegerField()),
                ("offset", models.BigIntegerField()),
                ("logic_revision", models.IntegerField()),
                ("as_of_us", models.BigIntegerField()),
                ("state", models.JSONField()),
            ],
            options={
                "db_table": "stock",
                "managed": False,
            },
        ),
    ]
