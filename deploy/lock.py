"""Generator of `requirements/*.txt` from `pyproject.toml`: exact versions and hashes, no URLs.

`dev.txt` has all packages and determines their versions. The smaller files may use only these
versions. Peers of the benchmark and the S3 server of the tests are resolved separately, each from
its `.in` file. The files don't have uv's own lock format, because that records the URLs of
packages.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from deploy.stack.home import PROJECT

_REQUIREMENTS: Final = PROJECT / "requirements"
_EXTRAS: Final = {
    "dev": ("streams", "webui", "analytics", "dev"),
    "core": (),
    "streams": ("streams",),
    "webui": ("webui",),
    "analytics": ("analytics",),
}
# Variables with a package index or a directory of packages on this machine. The resolution must not
# depend on them.
_LOCAL: Final = re.compile(r"^(UV|PIP)_.*(INDEX|FIND_LINKS)")
_INSTALLER: Final = ("pip", "setuptools", "uv")


def compile_requirements(
    name: str, sources: list[str], constraint: Path | None, extras: tuple[str, ...] = ()
) -> None:
    """Write `requirements/<name>.txt`: the packages of `sources` and their dependencies.

    `extras` are optional groups of dependencies to include. `constraint` is a file whose versions
    must be used.
    """
    command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "-q", *sources]
    command += [part for extra in extras for part in ("--extra", extra)]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--python-version", "3.11"]
    command += ["--no-emit-index-url", "--no-emit-find-links"]
    command += ["-c", str(constraint)] if constraint else []
    command += ["-o", str(_REQUIREMENTS / f"{name}.txt")]
    environment = {key: value for key, value in os.environ.items() if not _LOCAL.match(key)}
    subprocess.run(command, check=True, cwd=PROJECT, env=environment)  # noqa: S603 -- fixed tool


def installer_lines(everything: str) -> str:
    """Return the entries of pip, setuptools and uv from `everything`, the text of `dev.txt`."""
    entries = re.split(r"\n(?=\S)", everything.strip())
    return "\n".join(e for e in entries if e.split("==")[0] in _INSTALLER) + "\n"


def main() -> None:
    """Write every requirements file."""
    everything = _REQUIREMENTS / "dev.txt"
    for name, extras in _EXTRAS.items():
        constraint = None if name == "dev" else everything
        compile_requirements(name, ["pyproject.toml"], constraint, extras)
    for wanted in sorted(_REQUIREMENTS.glob("peers-*.in")):
        # Each of these has an environment of its own, so no constraint: versions may differ.
        compile_requirements(wanted.stem, [str(wanted.relative_to(PROJECT))], None)
    text = installer_lines(everything.read_text(encoding="utf-8"))
    (_REQUIREMENTS / "installer.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
