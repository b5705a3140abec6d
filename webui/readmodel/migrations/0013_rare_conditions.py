"""Indexes of the rare items for which the automation opens tasks.

The process `automation` looks for these items every 5 s. Without the indexes, each search read the
table `read_model.stock` as a whole.
"""

from django.db import migrations

_RARE = {
    "proposed": "episode_state = 'open' OR price_proposal_id IS NOT NULL",
    "held": "episode_state IN ('held-snoozed', 'held-rejected', 'held-short')",
    "negative_bucket": "on_order_units < 0 OR unavailable_units < 0",
}
FORWARD = "\n".join(
    f"CREATE INDEX stock_{name} ON read_model.stock (inv_key) WHERE {rare};"
    for name, rare in _RARE.items()
)
REVERSE = "\n".join(f"DROP INDEX read_model.stock_{name};" for name in reversed(_RARE))


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0012_topics_of_positions")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
