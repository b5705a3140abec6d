"""Parameters that this logic revision overrides. The project's own sources override none.

`inventory backfill run --set` copies the sources and rewrites this module in the copy. So a change
of parameters is a change of code, with its own logic revision. The commands that compute, compare,
review and publish a logic revision therefore accept changed parameters too.
"""

from typing import Final

from inventory.parameters.overlay import Overlay

CHANGE: Final[str] = ""  # the effect of the parameters on results, in one line
OVERLAY: Final[Overlay] = ()
