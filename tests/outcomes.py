"""The effects of a fold result, whichever outcome it is: only an applied record has any."""

from inventory.fold.record import Applied, FoldResult
from inventory.model.outputs import LateSale, Output


def outputs_of(result: FoldResult) -> tuple[Output, ...]:
    return result.outputs if isinstance(result, Applied) else ()


def late_of(result: FoldResult) -> LateSale | None:
    return result.late if isinstance(result, Applied) else None
