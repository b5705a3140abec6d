"""Codes that a product has in addition to its SKU: GTINs and suppliers' article numbers.

Decision 0057 has the reasons.

`retail.gtin` has codes of 14 digits with a valid check digit, as `ledger.items.gtin` checks them.
One scan of a case counts `pack_units` units. `retail.supplier_code` has one row per supplier and
number, with the key `supplier|number`. The publication contains neither table, because no worker
reads them.

The models are unmanaged, so their operations change no table.
"""

from typing import Any

from django.db import migrations, models

FORWARD = r"""
CREATE FUNCTION retail.is_gtin(code text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(code ~ '^[0-9]{14}$' AND code <> '00000000000000' AND (
        SELECT sum(digit::int * CASE WHEN place % 2 = 1 THEN 3 ELSE 1 END) % 10 = 0
        FROM regexp_split_to_table(code, '') WITH ORDINALITY AS digits (digit, place)
        WHERE digit ~ '^[0-9]$'), false)
$$;
CREATE TABLE retail.gtin (
    code text PRIMARY KEY CONSTRAINT gtin_code CHECK (retail.is_gtin(code)),
    sku text NOT NULL REFERENCES retail.product (code),
    pack_units integer NOT NULL DEFAULT 1
        CONSTRAINT gtin_pack_units CHECK (pack_units BETWEEN 1 AND 10000),
    is_active boolean NOT NULL DEFAULT true
);
CREATE INDEX gtin_sku ON retail.gtin (sku);
CREATE TABLE retail.supplier_code (
    code text PRIMARY KEY
        CONSTRAINT supplier_code_code CHECK (code = supplier || '|' || number),
    supplier text NOT NULL REFERENCES retail.supplier (code),
    number text NOT NULL CONSTRAINT supplier_code_number CHECK (
        char_length(number) BETWEEN 1 AND 64 AND number !~ '[[:cntrl:]]|^ | $'),
    sku text NOT NULL REFERENCES retail.product (code),
    is_active boolean NOT NULL DEFAULT true
);
CREATE INDEX supplier_code_sku ON retail.supplier_code (sku);
-- A person types small letters for large ones.
CREATE UNIQUE INDEX supplier_code_letters ON retail.supplier_code (upper(number), supplier);
REVOKE ALL ON retail.gtin, retail.supplier_code FROM app_rw, app_ro, cdc;
GRANT SELECT, INSERT, UPDATE (sku, pack_units, is_active) ON retail.gtin TO app_rw;
GRANT SELECT, INSERT, UPDATE (sku, is_active) ON retail.supplier_code TO app_rw;
GRANT SELECT ON retail.gtin, retail.supplier_code TO app_ro;
"""
REVERSE = """
DROP TABLE retail.supplier_code;
DROP TABLE retail.gtin;
DROP FUNCTION retail.is_gtin(text);
"""


def unmanaged(
    name: str, table: str, verbose: str, *fields: tuple[str, "models.Field[Any, Any]"]
) -> migrations.CreateModel:
    """Return an operation that adds a model to Django's state and changes no table."""
    options = {
        "db_table": f'"retail"."{table}"',
        "ordering": ("code",),
        "managed": False,
        "default_permissions": (),
        "verbose_name": verbose,
    }
    return migrations.CreateModel(name=name, fields=list(fields), options=options)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0033_webhooks")]
    operations = [
        migrations.RunSQL([FORWARD], [REVERSE]),
        unmanaged(
            "Gtin",
            "gtin",
            "GTIN",
            ("code", models.CharField(primary_key=True, serialize=False, max_length=14)),
            ("sku", models.CharField(max_length=32)),
            ("pack_units", models.PositiveIntegerField(default=1)),
            ("is_active", models.BooleanField(default=True)),
        ),
        unmanaged(
            "SupplierCode",
            "supplier_code",
            "supplier's code",
            ("code", models.CharField(primary_key=True, serialize=False, max_length=129)),
            ("supplier", models.CharField(max_length=64)),
            ("number", models.CharField(max_length=64)),
            ("sku", models.CharField(max_length=32)),
            ("is_active", models.BooleanField(default=True)),
        ),
    ]
