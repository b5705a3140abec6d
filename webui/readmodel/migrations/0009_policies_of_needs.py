"""An index with the policy values of a need, so that the table of needs reads no row of a policy.

The table orders all open needs by urgency and money, and needs six values of each policy for that.
A row of `retail.item_location` has 630 bytes, and the policies of the needs are on different pages
of Postgres. Policies change rarely, so the index costs space and few writes: 93 MB for a million
keys.
"""

from django.db import migrations

FORWARD = """
CREATE INDEX item_location_needs ON retail.item_location (inv_key) INCLUDE (supplier,
    initial_rate_micro, lead_time_centidays, pack_units, cost_minor, auto_max_minor);
"""

REVERSE = """
DROP INDEX retail.item_location_needs;
"""


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0008_state_as_text"), ("ledger", "0003_item_location")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
