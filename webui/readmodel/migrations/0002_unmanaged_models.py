"""Empty migration. Its name stays, because databases have recorded it.

Earlier versions declared Django models here that no page used.
"""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    dependencies = [("readmodel", "0001_read_model")]
    operations = []
