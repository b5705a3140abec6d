"""Installed packages have a licence from a list, read offline from their metadata.

Packages that the processes import are permissive, or copyleft for their own files or library only.
Development tools may be under the GPL: they read the sources; no product code derives from tools.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest

from deploy.stack.home import PROJECT

PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC"),
    *("MIT", "MIT-0", "PSF-2.0", "Zlib", "BSD", "Repoze Public License"),
}
OF_ITSELF = {"LGPL-3.0-only", "MPL-2.0"}
TOOLS = {"GPL-2.0-only", "GPL-3.0-or-later"}
# Older metadata have a classifier, a longer text for the same licence, and no SPDX expression.
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
UNSTATED = {"axe-playwright-python": "MIT"}  # from its licence file, as its metadata have none


def locked(lock: str) -> set[str]:
    text = (PROJECT / "requirements" / lock).read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE))


def licence(found: Distribution) -> str:
    """Return an SPDX expression from the newest kind of metadata that the package has."""
    stated = found.metadata
    if "License-Expression" in stated:
        return stated["License-Expression"]
    named = [
        line.rpartition(" :: ")[2]
        for line in stated.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if named:
        return " OR ".join(CLASSIFIERS.get(name, name) for name in named)
    if "License" in stated:
        return stated["License"]
    return UNSTATED.get(stated["Name"], "nothing stated")


def is_allowed(expression: str, allowed: set[str]) -> bool:
    parts = re.sub(r"[()]", "", expression).split(" AND ")
    return all(set(part.split(" OR ")) & allowed for part in parts)


def refused(names: set[str], allowed: set[str]) -> dict[str, str]:
    found = {}
    for name in sorted(names):
        try:
            stated = licence(distribution(name))
        except PackageNotFoundError:  # its marker selects another operating system
            continue
        if not is_allowed(stated, allowed):
            found[name] = stated
    return found


@pytest.mark.parametrize("lock", ["core.txt", "streams.txt", "webui.txt", "analytics.txt"])
def test_shipped_packages_have_an_allowed_licence(lock: str) -> None:
    assert refused(locked(lock), PERMISSIVE | OF_ITSELF) == {}


def test_development_packages_have_an_allowed_licence() -> None:
    assert refused(locked("dev.txt"), PERMISSIVE | OF_ITSELF | TOOLS) == {}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", False),
        ("GPL-3.0-or-later OR MIT", True),
        ("MIT AND Proprietary", False),
    ],
)
def test_every_part_of_an_expression_counts(expression: str, expected: object) -> None:
    assert is_allowed(expression, PERMISSIVE) is expected
