"""Store the id of the topic with each position of a sink.

A topic that was deleted and created again has the same name and other records at the same offsets.
Positions that an earlier release stored have no id. The sink stores the present topic's id with
them at its next start.
"""

from django.db import migrations

FORWARD = "ALTER TABLE read_model.sink_position ADD COLUMN topic_id text;"
REVERSE = "ALTER TABLE read_model.sink_position DROP COLUMN topic_id;"


class Migration(migrations.Migration):
    dependencies = [("readmodel", "0011_items_by_movement")]
    operations = [migrations.RunSQL([FORWARD], [REVERSE])]
