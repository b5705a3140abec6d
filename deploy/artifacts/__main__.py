"""Rewrite `jars.sha256`, the committed list of checksums: `python -m deploy.artifacts`.

Run this module after a change of a version in pom.xml.
"""

import sys

from deploy.artifacts.fetch import CHECKSUMS, write_list

sys.stdout.write(f"{write_list()} files listed in {CHECKSUMS}\n")
