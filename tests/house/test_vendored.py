"""Foreign files that browsers get: each is an exact release, with its licence."""

import hashlib
import re

from deploy.stack.home import PROJECT
from tests.house.test_licences import PERMISSIVE
from webui.shell.navigation import ICONS, OTHER_ICON

VENDORED = PROJECT / "webui/static/vendor"
# Name and version, licence, and the sha256 of each file.
RELEASES = {
    # 70 icons of the package lucide-static, each as one symbol.
    "lucide": (
        "Lucide 1.62.0",
        "ISC",
        {
            "LICENSE": "b495047bd93a9b06913511076f504daba17d5bbeb3e0650f3bb53a4220329c57",
            "lucide.svg": "08edceebc6730f45cdedcd969d846504ae846bf538fa21e5254fdae313411e86",
        },
    ),
    "uplot": (
        "uPlot (v1.6.32)",
        "MIT",
        {
            "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
            "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
            "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        },
    ),
}


def test_each_file_is_that_of_its_release() -> None:
    found = {
        str(path.relative_to(VENDORED)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.rglob("*")
        if path.is_file()
    }

    assert found == {
        f"{name}/{file}": digest
        for name, (_, _, files) in RELEASES.items()
        for file, digest in files.items()
    }


def test_each_release_has_an_accepted_licence_and_its_version() -> None:
    for name, (version, licence, _) in RELEASES.items():
        texts = [path.read_text(encoding="utf-8") for path in (VENDORED / name).iterdir()]

        assert licence in PERMISSIVE
        assert any(f"{licence} License" in text for text in texts)
        assert any(version in text for text in texts)


def test_every_icon_that_a_page_names_exists() -> None:
    sprite = (VENDORED / "lucide/lucide.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r'<symbol id="([a-z0-9-]+)"', sprite))
    named = {
        name
        for path in (PROJECT / "webui/templates").rglob("*.html")
        for name in re.findall(r'{% icon "([^"]+)" %}', path.read_text(encoding="utf-8"))
    }

    assert (named | set(ICONS.values()) | {OTHER_ICON}) - drawn == set()
