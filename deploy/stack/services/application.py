"""The project's own processes: stream workers, sinks, archiver, periodic jobs, pages."""

import sys
from typing import Final

from deploy.stack.context import APPLICATIONS, HOST, WORKER_MODULE, Context
from deploy.stack.home import PROJECT
from deploy.stack.probes import probes_of
from deploy.stack.service import Service
from streams.stop_signals import LEAVE_SIGNAL

# Services that write facts. They stop before the services that read facts.
WRITERS: Final = ("heartbeat", "automation", "webhooks", "web")


def worker(context: Context, name: str) -> Service:
    """Return the definition of one stream worker."""
    port = context.ports[name]
    url = f"http://{HOST}:{port}"
    asked = probes_of(name, url, context.database_url("postgres"))
    return Service(
        name=name,
        command=(sys.executable, "-m", WORKER_MODULE),
        environment=context.environment(
            name, INVENTORY_WORKER_ID=name, INVENTORY_WORKER_PORT=str(port)
        ),
        directory=PROJECT,
        ready=lambda pid: asked.ready(pid) is True,
        alive=asked.alive,
        stop_rank=1,
        leave_signal=LEAVE_SIGNAL,
        port=port,
        url=url,
        # A restore of a million keys may take longer than the limit for a start. If a restore makes
        # no progress, the worker ends itself. So a worker that answers gets more time.
        is_progressing=lambda pid: asked.alive(pid) is True,
    )


def application(context: Context, name: str) -> Service:
    """Return the definition of a sink, the archiver, a periodic job or the pages."""
    web = name == "web"
    url = context.web_url
    asked = probes_of(name, url, context.database_url("postgres"))
    return Service(
        name=name,
        command=(sys.executable, "-m", APPLICATIONS[name]),
        environment=context.environment(name),
        directory=PROJECT,
        ready=lambda pid: asked.ready(pid) is True,
        alive=asked.alive,
        stop_rank=0 if name in WRITERS else 1,
        port=context.ports["web"] if web else None,
        url=url if web else None,
    )


def trading(context: Context) -> Service:
    """Return the definition of the demo's trading. `deploy.stack.trader` is its process."""
    return Service(
        name="trading",
        command=(sys.executable, "-m", "deploy.stack.trader"),
        environment=context.environment("trading"),
        directory=PROJECT,
        ready=lambda _pid: True,
        stop_rank=0,
    )
