"""Indexes on SKUs in lower case, to find a known SKU with the same letters as a new one.

Two such SKUs differ only in upper and lower case. Without the indexes, Postgres would read all
products and all policies for each new item. The indexes are not unique, because tills and imports
may have written such SKUs.
"""

from django.db import migrations

FORWARD = """
CREATE INDEX product_letters ON retail.product (lower(code));
CREATE INDEX item_location_letters ON retail.item_location (lower(sku));
"""
REVERSE = """
DROP INDEX retail.item_location_letters;
DROP INDEX retail.product_letters;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0034_product_codes")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
