"""JSON lines on standard error: one constant event name, everything else as fields."""

import logging
import sys

import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer

# Local variables of a failed call hold addresses with passwords: a traceback names lines only.
WITHOUT_LOCALS = ExceptionRenderer(ExceptionDictTransformer(show_locals=False))


def configure_logging(*, level: str, service: str) -> None:
    """Set structlog up for this process and quieten the libraries to warnings."""
    numeric = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            WITHOUT_LOCALS,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
