"""Two ranges of docs/domain.md 11.8 that the fold also checks.

Existing rows are not checked: rows of prices never change, so nobody could correct a wrong one. The
fold has rejected such rows with reason `limit`.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE retail.item_location ADD CONSTRAINT item_location_demand_alpha_range
    CHECK (demand_alpha_permille <= 1000) NOT VALID;
ALTER TABLE retail.price_change ADD CONSTRAINT price_change_effective_from_range
    CHECK (extract(epoch FROM effective_from) * 1000000
           BETWEEN -9007199254740991 AND 9007199254740991) NOT VALID;
"""
REVERSE = """
ALTER TABLE retail.price_change DROP CONSTRAINT price_change_effective_from_range;
ALTER TABLE retail.item_location DROP CONSTRAINT item_location_demand_alpha_range;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0018_people")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
