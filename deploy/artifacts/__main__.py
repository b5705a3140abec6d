"""`python -m deploy.artifacts` writes the sha256 list anew, after a version in pom.xml changed."""

import sys

from deploy.artifacts.fetch import CHECKSUMS, write_list

sys.stdout.write(f"{write_list()} files listed in {CHECKSUMS}\n")
