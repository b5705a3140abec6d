"""HTTP answers of a running stack: Connect's, the workers', and pages with each demo login."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from cdc.capture.client import ACCOUNT, CONNECTOR, connector_config
from deploy.leaks.processes import Content
from deploy.stack.context import HOST
from deploy.stack.home import Home
from deploy.stack.runtime import environment_of, read_runtime

_WAIT_S: Final = 20.0
MOST_PAGES: Final = 40  # per person
_VALIDATE: Final = "/connector-plugins/PostgresConnector/config/validate"
_CONNECT: Final = (
    "/",
    "/connectors?expand=info&expand=status",
    f"/connectors/{CONNECTOR}/config",
    "/connector-plugins",
    "/admin/loggers",
)
_OPEN: Final = ("/livez", "/readyz", "/metrics", "/nowhere")
_WORKER: Final = tuple(
    f"/iq/v1/{name}" for name in ("partitions", "lag", "health", "revision", "keys/bad")
)
_PAGES: Final = ("/", "/login/", "/livez", "/readyz", "/nowhere/")
_LINK: Final = re.compile(r'href="(/[^"#]*)"')
_TOKEN: Final = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def replies(home: Home, pages: int = MOST_PAGES) -> Iterator[Content]:
    """Yield the HTTP answers of Connect, the workers and the pages.

    Log in as each demo person, and get up to `pages` pages by following links. Leave out a service
    that doesn't answer.
    """
    variables = environment_of(home)
    yield from _connect(home, variables)
    for name, service in read_runtime(home).services.items():
        if name.startswith("worker-") and service.url:
            yield from _worker(name, service.url, variables["INVENTORY_QUERY_TOKEN"])
    web = read_runtime(home).services.get("web")
    if web is not None and web.url:
        yield from _web(home, web.url, pages)


def _connect(home: Home, variables: Mapping[str, str]) -> Iterator[Content]:
    account = (ACCOUNT, variables.get("INVENTORY_CONNECT_PASSWORD", ""))
    url = variables["INVENTORY_CONNECT_URL"]
    # A configuration as an attacker would send it: in its answer, Connect must not replace these
    # references by secrets.
    hostile = connector_config(HOST, read_runtime(home).ports["postgres"]) | {
        "database.user": "${env:INVENTORY_DATABASE_URL}",
        "database.dbname": "${env:INVENTORY_SECRET_KEY}",
        "topic.prefix": f"${{file:{home.path / 'secrets.json'}:postgres}}",
        "slot.name": f"${{directory:{home.path}:secrets.json}}",
    }
    for login in (None, account):
        client = _client(url, auth=login)
        who = "with the password" if login else "without a password"
        with client:
            for path in _CONNECT:
                yield from _answer(client, "GET", path, f"Connect {path} {who}")
            body = {"name": CONNECTOR, **hostile}
            yield from _answer(client, "PUT", _VALIDATE, f"Connect validate {who}", body)


def _worker(name: str, url: str, token: str) -> Iterator[Content]:
    with _client(url) as client:
        for path in (*_OPEN, *_WORKER):
            yield from _answer(client, "GET", path, f"{name} {path} without a token")
    bearer = {"Authorization": f"Bearer {token}"}
    with _client(url, headers=bearer) as client:
        for path in _WORKER:
            yield from _answer(client, "GET", path, f"{name} {path}")


def _web(home: Home, url: str, pages: int) -> Iterator[Content]:
    with _client(url) as client:
        for path in _PAGES:
            yield from _answer(client, "GET", path, f"web {path}")
    has_people = pages > 0 and home.has_demo()
    people = json.loads(home.logins_file.read_text("utf-8")) if has_people else {}
    for person, password in people.items():
        with _client(url, follow_redirects=True) as client:
            if _log_in(client, person, str(password)):
                yield from _crawl(client, person, pages)


def _client(url: str, **options: Any) -> httpx.Client:  # noqa: ANN401 -- httpx's
    return httpx.Client(base_url=url, timeout=_WAIT_S, trust_env=False, **options)


def _log_in(client: httpx.Client, person: str, password: str) -> bool:
    try:
        token = _TOKEN.search(client.get("/login/").text)
        if token is None:
            return False
        form = {"csrfmiddlewaretoken": token[1], "username": person, "password": password}
        answer = client.post("/login/", data=form, headers={"Referer": str(client.base_url)})
    except httpx.HTTPError:
        return False
    return answer.is_success and not answer.url.path.startswith("/login")


def _crawl(client: httpx.Client, person: str, pages: int) -> Iterator[Content]:
    """Yield up to `pages` pages and exports that a logged-in person reaches by links."""
    known, waiting = {"/"}, ["/"]
    for _ in range(pages):
        if not waiting:
            return
        path = waiting.pop(0)
        for found in _answer(client, "GET", path, f"web {path} as {person}"):
            yield found
            links = _LINK.findall(found.content.decode("utf-8", errors="replace"))
            fresh = [link for link in dict.fromkeys(links) if link not in known]
            fresh = [link for link in fresh if not link.startswith(("/static/", "/logout"))]
            known.update(fresh)
            waiting += fresh


def _answer(
    client: httpx.Client,
    method: str,
    path: str,
    place: str,
    body: Mapping[str, str] | None = None,
) -> Iterator[Content]:
    try:
        answer = client.request(method, path, json=body)
    except httpx.HTTPError:
        return
    raw = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    yield Content(place, raw.encode() + b"\n\n" + answer.content)
