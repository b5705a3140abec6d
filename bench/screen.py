"""Commit to pixel: latency from a sale committed through SQL to the changed number on a page.

A real browser shows the stock list of the benchmark's own location. The benchmark commits sale
lines at a given rate, one line for each row of the list in turn. With `basket` above 1, a commit
has up to `basket` lines, each of another row. The page records the wall clock after the frame that
paints a changed cell. One frame may include several commits that changed the same cell. So a commit
counts as shown when its cell first shows this commit or a later one.

Further open pages are simulated by event streams of the same address. The server does the same work
for them as for browsers. More browsers would take CPU time from the cores that are measured.
"""

import time
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

import psycopg

from bench.errors import BenchFailed
from bench.load import Load, baskets, percentile
from bench.open_streams import open_streams
from bench.watch import ReadModel

ROWS: Final = 50
_DEADLINE_MS: Final = 60_000
# A message that a frame callback posts is handled after the browser has painted the frame.
_WATCH: Final = """() => {
  window.shown = [];
  const units = (cell) => {
    const digits = Number(cell.textContent.replace(/[^0-9]/g, ""));
    return /^[-\\u2212]/.test(cell.textContent.trim()) ? -digits : digits;
  };
  const painted = (work) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = work;
    channel.port2.postMessage(0);
  });
  new MutationObserver((changes) => {
    for (const change of changes) {
      const cell = change.target.parentElement?.closest("[data-f=on_hand]")
        ?? change.target.closest?.("[data-f=on_hand]");
      if (!cell) continue;
      const entry = [cell.closest("[data-key]").dataset.key, units(cell)];
      painted(() => window.shown.push([...entry, Date.now()]));
    }
  }).observe(document.querySelector("main"), {
    subtree: true, childList: true, characterData: true,
  });
}"""
_LIVE_ADDRESS: Final = (
    '() => (document.querySelector("main [data-live]") ?? document.body).dataset.live'
)
_ALL_SHOWN: Final = "lines => window.shown.filter(([, units]) => units === -lines).length >= 50"


@dataclass(frozen=True, slots=True)
class Screen:
    """A page to measure, and the account of a person who may open it.

    `chromium` is the path of the browser's program. `pages` is the number of open pages.
    """

    url: str
    person: str
    password: str
    chromium: str
    pages: int = 1


@dataclass(frozen=True, slots=True)
class Pixels:
    """Milliseconds from the commit of a sale until a browser has painted the changed number.

    `rate_per_s` lines a second were planned, in baskets of 1 to `basket` lines, with `pages` open
    pages. `sold_per_s` is the rate that was reached.
    """

    lines: int
    rate_per_s: int
    sold_per_s: float
    basket: int
    pages: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float


def measure_screen(
    url: str, screen: Screen, *, rate: int, seconds: float, basket: int = 1
) -> Pixels:
    """Commit lines at `rate` for the 50 rows of an open page; return the paint latencies.

    Each commit is one basket of 1 to `basket` sale lines. Each line is for another row of the page,
    so a basket has at most 50 lines.

    Raises:
        BenchFailed: the page did not show the last lines.
    """
    lines_per_row = max(1, round(rate * seconds / ROWS))
    with psycopg.connect(url, autocommit=True) as connection:
        load = Load(connection)
        skus = [f"S{number}" for number in range(ROWS)]
        _first_lines(url, load, skus)
        with _open_list(screen, load.location) as page, _further_pages(screen, page):
            page.evaluate(_WATCH)
            began = time.monotonic()
            sizes = baskets(rate, lines_per_row * ROWS, basket)
            committed = _sell(load, skus, sizes)
            sold_s = time.monotonic() - began
            _wait(page, lines_per_row + 1)
            painted = page.evaluate("() => window.shown")
    delays = _delays(committed, painted)
    return Pixels(
        lines=len(delays),
        rate_per_s=rate,
        sold_per_s=len(delays) / sold_s,
        basket=basket,
        pages=screen.pages,
        p50_ms=percentile(delays, 500),
        p99_ms=percentile(delays, 990),
        p999_ms=percentile(delays, 999),
        max_ms=delays[-1],
    )


def _first_lines(url: str, load: Load, skus: Sequence[str]) -> None:
    """Write a sale line for each SKU; wait until the stock list has a row for each of them."""
    keys = {f"{load.location}|{sku}": time.monotonic() for sku in skus}
    with ReadModel(url, keys) as read_model:
        load.insert(skus)
        read_model.wait(timeout_s=60)


def _sell(load: Load, skus: Sequence[str], sizes: Iterable[int]) -> dict[str, list[float]]:
    """Commit the baskets. Return the times of each key's commits in ms since 1970, in order."""
    committed: dict[str, list[float]] = defaultdict(list)
    rows = cycle(skus)
    for size in sizes:
        chosen = list(islice(rows, size))
        load.insert(chosen)
        now = time.time() * 1000
        for sku in chosen:
            committed[f"{load.location}|{sku}"].append(now)
    return committed


@contextmanager
def _open_list(screen: Screen, location: str) -> Iterator[Any]:
    """Open the stock list of a location in a browser, logged in and with a running stream."""
    # Playwright is a development tool. A machine that only runs the stack doesn't have it.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- see above

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=screen.chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(base_url=screen.url)
        page.goto("/login/")
        page.fill("[name=username]", screen.person)
        page.fill("[name=password]", screen.password)
        page.click("main button")
        page.goto(f"/?location={location}")
        # The status pill changes from "checking" to "live" at the stream's first age event.
        page.wait_for_selector("#pill[data-state=live]", timeout=_DEADLINE_MS)
        yield page
        browser.close()


@contextmanager
def _further_pages(screen: Screen, page: Any) -> Iterator[None]:  # noqa: ANN401 -- as in `_wait`
    """Keep the event streams of `screen.pages` - 1 further pages open."""
    address = page.evaluate(_LIVE_ADDRESS)
    found = page.context.cookies()
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in found)
    with open_streams(screen.url, address, cookies, screen.pages - 1):
        yield


def _wait(page: Any, lines: int) -> None:  # noqa: ANN401 -- the browser's type is not always installed
    from playwright.sync_api import TimeoutError as NotShown  # noqa: PLC0415 -- a development tool

    try:
        page.wait_for_function(_ALL_SHOWN, arg=lines, timeout=_DEADLINE_MS)
    except NotShown as late:
        problem = (
            f"the page did not show -{lines} units in all {ROWS} rows within {_DEADLINE_MS} ms"
        )
        raise BenchFailed(problem) from late


def _delays(
    committed: Mapping[str, Sequence[float]], painted: Sequence[tuple[str, int, float]]
) -> list[float]:
    """Return the sorted milliseconds from each commit to the first paint that includes it."""
    shown: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for key, units, at_ms in painted:
        shown[key].append((-units, at_ms))
    delays: list[float] = []
    for key, commits in committed.items():
        for number, at_ms in enumerate(commits):
            # The row had one line before the measurement: the first measured commit makes it two.
            first = min(paint for units, paint in shown[key] if units >= number + 2)
            insort(delays, max(0.0, first - at_ms))
    return delays
