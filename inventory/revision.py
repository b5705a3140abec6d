"""The revision of the rules: it names the consumer group and the changelogs.

1: first release.
"""

from typing import Final

LOGIC_REVISION: Final = 1
