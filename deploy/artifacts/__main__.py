"""`python -m deploy.artifacts` rewrites the SHA-256 list after a version change in pom.xml."""

import sys

from deploy.artifacts.fetch import CHECKSUMS, write_list

sys.stdout.write(f"{write_list()} files listed in {CHECKSUMS}\n")
