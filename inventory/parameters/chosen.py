"""Parameters that this logic revision overrides. The project's own sources override none.

`inventory backfill run --set` copies the sources and rewrites this module in the copy. So changed
parameters are code with a logic revision of its own. The commands that compute, compare, review and
publish a logic revision therefore accept changed parameters too.
"""

from typing import Final

from inventory.parameters.overlay import Overlay

CHANGE: Final[str] = ""  # the effect of the parameters on results, in one line
OVERLAY: Final[Overlay] = ()
