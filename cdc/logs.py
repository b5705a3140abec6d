"""The log format of all processes: one JSON object a line on standard error.

The project's events, libraries' messages, warnings and uncaught exceptions all use it. Tracebacks
have files and lines but no local variables, because these may contain passwords.
"""

import logging
import os
import sys
import threading
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Final

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
# Local variables of a failed call may contain URLs with passwords.
WITHOUT_LOCALS: Final = structlog.processors.ExceptionRenderer(
    ExceptionDictTransformer(show_locals=False)
)

log = structlog.get_logger(__name__)


def configure_logging(*, service: str, level: str = "") -> None:
    """Configure this process to log as `service`. Libraries log warnings and errors only.

    Without `level`, `INVENTORY_LOG_LEVEL` applies, or INFO if that is not set.
    """
    chosen = level or os.environ.get("INVENTORY_LOG_LEVEL", "INFO")
    numeric = logging.getLevelNamesMapping()[chosen if chosen in _LEVELS else "INFO"]

    def named(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Any:  # noqa: ANN401 -- as structlog calls processors
        event.setdefault("service", service)
        return event

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        named,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, WITHOUT_LOCALS, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    _configure_libraries(shared)
    sys.excepthook = _uncaught
    threading.excepthook = lambda ended: _uncaught(
        ended.exc_type, ended.exc_value or ended.exc_type(), ended.exc_traceback
    )


def _configure_libraries(shared: list[Any]) -> None:
    """Configure the standard library's loggers to write lines of the same format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                WITHOUT_LOCALS,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log the exception that ends a thread or the process as one line."""
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    log.critical("uncaught exception", exc_info=(kind, error, trace))
