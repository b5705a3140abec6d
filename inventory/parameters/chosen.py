"""Parameters that this logic revision overrides. The project's own sources override none.

`inventory backfill run --set` copies the sources and writes this module anew in the copy. New
parameters are therefore code with their own logic revision, and the same commands compute, compare,
review and publish them.
"""

from typing import Final

from inventory.parameters.overlay import Overlay

CHANGE: Final[str] = ""  # the effect of the parameters on results, in one line
OVERLAY: Final[Overlay] = ()
