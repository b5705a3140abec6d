"""Screenshots of the screens of a running stack, on one sheet per role.

    python -m tests.stack.browser.contact_sheet [--role buyer] [--to FOLDER] [--web ADDRESS]
        [--language de]

Each row of a role's sheet shows one page: a page of the role's navigation, the first item that the
role sees, the page for a new password, or an error page.
The four columns are desktop and phone, light and dark. Run the module on a demo, because it logs in
with the demo's passwords. It writes only pictures, `sheet-ROLE.png` and an `index.html` with all of
them.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, StorageState, ViewportSize, sync_playwright

from deploy.artifacts.prerequisites import HEADLESS, find
from deploy.stack.home import Home, default_home

DESKTOP: Final[ViewportSize] = {"width": 1280, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
TIMEOUT_MS: Final = 60_000
# Wait this long after loading, so that the header's pill shows an age and a desk its list. Only the
# pictures depend on it.
SETTLED_MS: Final = 600
_LINKS: Final = """() => [...document.querySelectorAll(".desks a[data-go]")]
    .map(link => link.getAttribute("href"))"""
_ITEM: Final = """() => document.querySelector('main a[href^="/items/"]')?.getAttribute("href")"""
_STYLE: Final = """body { font: 14px sans-serif; margin: 16px; background: #ccc; }
    figure { display: inline-block; margin: 6px; vertical-align: top; }
    img { height: 420px; border: 1px solid #888; display: block; }"""


@dataclass(frozen=True, slots=True)
class Shot:
    """One screenshot: the page, its size and scheme, and its file."""

    path: str
    look: str
    file: Path


def main() -> None:
    """Take the pictures and write the sheets; print where they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--role", action="append", help="only this role; may be repeated")
    parser.add_argument(
        "--to", type=Path, default=Path("contact-sheet"), help="folder of the files"
    )
    parser.add_argument("--web", default="", help="address of the pages; default: the stack's own")
    parser.add_argument("--language", default="en", help="language of the pages, like de")
    given = parser.parse_args()
    home = Home(default_home())
    base = given.web or _address(home)
    passwords: dict[str, str] = json.loads(home.logins_file.read_text(encoding="utf-8"))
    given.to.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find(HEADLESS),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        for role in given.role or passwords:
            session, paths = _enter(browser, base, role, passwords[role], given.language)
            shots = [*_shots(browser, base, role, session, paths, given.to)]
            _write_sheet(browser, given.to, role, shots)
            sys.stdout.write(f"{given.to}/sheet-{role}.png\n")
        browser.close()
    _write_index(given.to)


def _address(home: Home) -> str:
    runtime = json.loads(home.runtime_file.read_text(encoding="utf-8"))
    return f"http://127.0.0.1:{runtime['services']['web']['port']}"


def _shots(
    browser: Browser, base: str, role: str, session: StorageState, paths: tuple[str, ...], to: Path
) -> Iterator[Shot]:
    """Yield every page of the role in its four looks."""
    for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport=size,
                color_scheme=scheme,
                storage_state=session,
                has_touch=size is PHONE,
                is_mobile=size is PHONE,
                service_workers="block",
            )
            page = context.new_page()
            page.set_default_timeout(TIMEOUT_MS)
            for path in paths:
                file = to / f"{role}-{_slug(path)}-{name}-{scheme}.png"
                _open(page, base + path)
                page.screenshot(path=file, animations="disabled")
                yield Shot(path, f"{name}, {scheme}", file)
            context.close()


def _enter(
    browser: Browser, base: str, role: str, password: str, language: str
) -> tuple[StorageState, tuple[str, ...]]:
    """Return the session of the role and the addresses of its pages."""
    context = browser.new_context(viewport=DESKTOP, service_workers="block")
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{base}/login/")
    page.fill("[name=username]", role)
    page.fill("[name=password]", password)
    page.click("main button")
    page.wait_for_url(lambda url: "/login" not in url)
    links: list[str] = page.evaluate(_LINKS)
    page.goto(f"{base}/")
    item: str | None = page.evaluate(_ITEM)
    context.add_cookies([{"name": "django_language", "value": language, "url": base}])
    session = context.storage_state()
    context.close()
    found = dict.fromkeys(
        [*links, *([item] if item else []), "/account/password/", "/no-such-page/"]
    )
    return session, tuple(found)


def _open(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_timeout(SETTLED_MS)


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "start"


def _write_sheet(browser: Browser, to: Path, role: str, shots: list[Shot]) -> None:
    page = browser.new_page(viewport={"width": 2000, "height": 900})
    page.goto(_write_page(to, role, shots))
    page.screenshot(path=to / f"sheet-{role}.png", full_page=True)
    page.close()


def _write_page(to: Path, role: str, shots: list[Shot]) -> str:
    file = to.resolve() / f"sheet-{role}.html"
    file.write_text(_html(role, shots), encoding="utf-8")
    return file.as_uri()


def _html(role: str, shots: list[Shot]) -> str:
    rows = []
    for path in dict.fromkeys(shot.path for shot in shots):
        figures = "".join(
            f'<figure><img src="{escape(shot.file.name)}"><figcaption>{escape(shot.look)}'
            "</figcaption></figure>"
            for shot in shots
            if shot.path == path
        )
        rows.append(f"<h2>{escape(role)}: {escape(path)}</h2>{figures}")
    return f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style>{''.join(rows)}"


def _write_index(to: Path) -> None:
    names = sorted(file.name for file in to.glob("sheet-*.html"))
    links = "".join(f'<li><a href="{name}">{name}</a></li>' for name in names)
    index = f"<!doctype html><meta charset=utf-8><title>Screens</title><ul>{links}</ul>"
    (to / "index.html").write_text(index, encoding="utf-8")


if __name__ == "__main__":
    main()
