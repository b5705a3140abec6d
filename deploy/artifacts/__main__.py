"""Rewrite the committed list of checksums, `jars.sha256`: `python -m deploy.artifacts`.

A developer runs this module after a version change in pom.xml.
"""

import sys

from deploy.artifacts.fetch import CHECKSUMS, write_list

sys.stdout.write(f"{write_list()} files listed in {CHECKSUMS}\n")
