"""The project's own processes: stream workers, sinks, archiver, heartbeat, automation, pages."""

import sys
from functools import partial
from http import HTTPStatus
from typing import Final

import httpx
import psycopg

from deploy import compiled_rules
from deploy.stack.context import APPLICATIONS, HOST, WORKER_MODULE, Context
from deploy.stack.home import PROJECT
from deploy.stack.service import Service

DEMO_RATE: Final = 2
DEMO_LEFT_PERMILLE: Final = 500
DEMO_PATIENCE_S: Final = 60
# Whoever writes facts stops before whoever reads them.
WRITERS: Final = ("heartbeat", "automation", "web")
# A row of this process, written by it: a row of its predecessor has another pid.
_BEAT = "SELECT 1 FROM read_model.service_heartbeat WHERE service = %s AND pid = %s"


def worker(context: Context, name: str) -> Service:
    """Definition of one stream worker."""
    port = context.ports[name]
    url = f"http://{HOST}:{port}"
    return Service(
        name=name,
        command=(sys.executable, "-m", WORKER_MODULE),
        environment=context.environment(INVENTORY_WORKER_ID=name, INVENTORY_WORKER_PORT=str(port)),
        directory=PROJECT,
        ready=lambda _pid: answers(f"{url}/readyz"),
        stop_rank=1,
        port=port,
        url=url,
        # A million keys take a while to come back, and a restore that stands still ends the worker.
        on_its_way=lambda _pid: answers(f"{url}/livez"),
        at_start=partial(compiled_rules.environment, context.home.path),
    )


def application(context: Context, name: str) -> Service:
    """Definition of a sink, the archiver, the heartbeat, the automation or the pages."""
    web = name == "web"
    url = context.web_url
    database = context.database_url("postgres")
    return Service(
        name=name,
        command=(sys.executable, "-m", APPLICATIONS[name]),
        environment=context.environment(),
        directory=PROJECT,
        ready=(lambda _pid: answers(f"{url}/readyz"))
        if web
        else (lambda pid: beats(database, name, pid)),
        stop_rank=0 if name in WRITERS else 1,
        port=context.ports["web"] if web else None,
        url=url if web else None,
    )


def trading(context: Context) -> Service:
    """The demo's people: `inventory simulate` without an end, through the services.

    They answer half of the proposals, and not at once: the others are for who looks at the pages.
    """
    simulate: tuple[str, ...] = ("simulate", "--rate", str(DEMO_RATE), "--minutes", "0")
    simulate += ("--leave", str(DEMO_LEFT_PERMILLE), "--patience", str(DEMO_PATIENCE_S))
    return Service(
        name="trading",
        command=(sys.executable, "-m", "deploy.cli.main", *simulate),
        environment=context.environment(),
        directory=PROJECT,
        ready=lambda _pid: True,
        stop_rank=0,
    )


def answers(url: str) -> bool:
    """Whether `url` answers 200."""
    try:
        return httpx.get(url, timeout=2.0).status_code == HTTPStatus.OK
    except httpx.HTTPError:
        return False


def beats(database_url: str, service: str, pid: int) -> bool:
    """Whether the process `pid` has written its row of life."""
    try:
        with psycopg.connect(database_url, connect_timeout=2, autocommit=True) as connection:
            return connection.execute(_BEAT, (service, pid)).fetchone() is not None
    except psycopg.Error:
        return False
