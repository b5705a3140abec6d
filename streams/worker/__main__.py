"""`python -m streams.worker`: one stream worker, until SIGTERM."""

import sys

import faust
import uvloop

from streams.logs import configure_logging
from streams.settings import WorkerSettings
from streams.worker.agents import build_worker


def main() -> None:
    """Run the worker; exits 0 after SIGTERM and 1 after any failure."""
    settings = WorkerSettings()
    configure_logging(level=settings.log_level, service=settings.worker_id)
    settings.worker_dir.mkdir(parents=True, exist_ok=True)  # Faust makes only the last part
    uvloop.install()
    app = build_worker(settings)
    sys.argv = sys.argv[:1]  # everything comes from the environment; Faust would read arguments
    worker = faust.Worker(app, loglevel="WARNING", redirect_stdouts=False, quiet=True)
    worker.spinner = None  # it would draw into the log
    worker.execute_from_commandline()


if __name__ == "__main__":
    main()
