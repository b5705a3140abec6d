"""Files of others that pages load: listed, unchanged, with a licence that allows it."""

import hashlib
import re
import tomllib
from pathlib import Path

from deploy.stack.home import PROJECT
from tests.house.test_licences import PERMISSIVE, is_allowed
from webui.shell.navigation import ICONS, OTHER_ICON

VENDOR = PROJECT / "webui/static/vendor"
LISTED = tomllib.loads((VENDOR / "VENDOR.toml").read_text(encoding="utf-8"))["file"]
TEMPLATES = PROJECT / "webui/templates"


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_file_is_listed_with_its_licence() -> None:
    there = {path.name for path in VENDOR.iterdir()} - {"VENDOR.toml"}
    listed = {entry[field] for entry in LISTED for field in ("path", "licence_file")}

    assert there == listed


def test_every_file_is_as_it_was_listed() -> None:
    found = {
        e["path"]: hashlib.sha256((VENDOR / e["path"]).read_bytes()).hexdigest() for e in LISTED
    }

    assert found == {entry["path"]: entry["sha256"] for entry in LISTED}


def test_every_licence_allows_it() -> None:
    assert [e["path"] for e in LISTED if not is_allowed(e["licence"], PERMISSIVE)] == []


def test_every_icon_that_a_page_names_exists() -> None:
    drawn = set(re.findall(r'<symbol id="([a-z0-9-]+)"', text(VENDOR / "lucide.svg")))
    named = {
        name
        for path in TEMPLATES.rglob("*.html")
        for name in re.findall(r'{% icon "([^"]+)" %}', text(path))
    }

    assert (named | set(ICONS.values()) | {OTHER_ICON}) - drawn == set()
