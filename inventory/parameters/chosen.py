"""The parameters of this logic revision. The project's own sources set none.

`inventory backfill run --set` writes another form of this module into a copy of the sources. So new
parameters are code with a revision of their own: the same commands compute, compare, review and
publish them.
"""

from typing import Final

from inventory.parameters.overlay import Overlay

CHANGE: Final[str] = ""  # the effect of the parameters on results, in one line
OVERLAY: Final[Overlay] = ()
