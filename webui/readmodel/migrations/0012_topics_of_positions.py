"""Store the id of the topic with each position of a sink.

A topic that was deleted and created again has the same name and other records at the same offsets.
Positions that an earlier release stored have no id. At its next start, a sink adds the id of the
present topic to them.
"""

from django.db import migrations

FORWARD = "ALTER TABLE read_model.sink_position ADD COLUMN topic_id text;"
REVERSE = "ALTER TABLE read_model.sink_position DROP COLUMN topic_id;"


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0011_items_by_movement")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
