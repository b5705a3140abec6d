"""The last recorded error of each service, and of each stage of the pipeline."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from ledger.kernel.rows import select
from webui.live.stream import HUB

# The services of each stage. `worker-` stands for all services whose names begin like this.
SERVICES: Final = {
    "Postgres": ("postgres", "heartbeat"),
    "Debezium": ("connect", "connector", "capture"),
    "Kafka": ("kafka",),
    "Workers": ("worker-",),
    "Read model": ("projector",),
    "Screen": ("web", "live feed"),
    "By rule": ("automation", "actuator"),
}
_ERRORS: Final = """
SELECT service, at, message, repair, times FROM read_model.service_error
ORDER BY at DESC, service LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class LastError:
    """The newest error of a service. `times` is the number of errors of the service so far.

    `repair` is the command to execute, or empty.
    """

    service: str
    at: datetime
    message: str
    repair: str
    times: int


def last_errors() -> list[LastError]:
    """Return the last errors of all services and of this process's live feed, newest first."""
    found = select(_ERRORS, {}, LastError)
    if HUB.failed_at_us is not None:
        at = datetime.fromtimestamp(HUB.failed_at_us / 1_000_000, UTC)
        found.append(LastError("live feed", at, HUB.failure, "", 1))
    return sorted(found, key=lambda error: error.at, reverse=True)


def error_of(stage: str, errors: Sequence[LastError]) -> LastError | None:
    """Return the newest error of the stage's services, or None. `errors` has the newest first."""
    return next(iter(_of(SERVICES.get(stage, ()), errors)), None)


def other_errors(errors: Iterable[LastError]) -> list[LastError]:
    """Return the errors of services that belong to no stage, such as the archiver."""
    staged = [error for names in SERVICES.values() for error in _of(names, errors)]
    return [error for error in errors if error not in staged]


def _of(names: Sequence[str], errors: Iterable[LastError]) -> Iterable[LastError]:
    for error in errors:
        if any(error.service == name or _is_kind(name, error.service) for name in names):
            yield error


def _is_kind(name: str, service: str) -> bool:
    return name.endswith("-") and service.startswith(name)
