"""Operators describe products, locations and suppliers on the desk Admin (decision 0031).

The application gets the right to change their descriptions, and never their codes. The models are
unmanaged: 0002 and 0009 created the tables, so these operations change no table.
"""

from typing import Any

from django.db import migrations, models

FORWARD = """
GRANT UPDATE (name, department) ON retail.product TO app_rw;
GRANT UPDATE (name, kind, address) ON retail.location TO app_rw;
GRANT UPDATE (name) ON retail.supplier TO app_rw;
"""
REVERSE = """
REVOKE UPDATE (name) ON retail.supplier FROM app_rw;
REVOKE UPDATE (name, kind, address) ON retail.location FROM app_rw;
REVOKE UPDATE (name, department) ON retail.product FROM app_rw;
"""


def unmanaged(name: str, *fields: tuple[str, "models.Field[Any, Any]"]) -> migrations.CreateModel:
    """Return an operation that adds a model to Django's state and changes no table."""
    options = {
        "db_table": f'"retail"."{name.lower()}"',
        "ordering": ("code",),
        "managed": False,
        "default_permissions": (),
    }
    return migrations.CreateModel(name=name, fields=list(fields), options=options)


def code(longest: int) -> tuple[str, "models.Field[Any, Any]"]:
    return ("code", models.CharField(primary_key=True, serialize=False, max_length=longest))


class Migration(migrations.Migration):
    dependencies = [("ledger", "0024_refusals")]
    operations = [
        migrations.RunSQL([FORWARD], [REVERSE]),
        unmanaged(
            "Product",
            code(32),
            ("name", models.CharField(max_length=200)),
            ("department", models.CharField(blank=True, default="", max_length=100)),
        ),
        unmanaged(
            "Location",
            code(24),
            ("name", models.CharField(max_length=200)),
            ("kind", models.CharField(default="store", max_length=9)),
            ("address", models.TextField(blank=True, default="", max_length=500)),
        ),
        unmanaged(
            "Supplier",
            code(64),
            ("name", models.CharField(max_length=200)),
            ("is_active", models.BooleanField(default=True)),
        ),
    ]
