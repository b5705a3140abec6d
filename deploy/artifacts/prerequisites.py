"""Find the programs that no Python package provides, or install them on Debian as root."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.errors import MissingPrerequisite

JAVA_AT_LEAST: Final = 17


def as_root(command: str) -> str:
    """Return a shell command that runs `command` as root.

    If this process is root already, the returned command has no `sudo`, because a container may
    lack that program.
    """
    return command if os.geteuid() == 0 else f"sudo {command}"


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its Debian package and its purpose.

    `instead` is another program for this purpose. It is used if `name` is missing and can't be
    installed.
    """

    name: str
    package: str
    purpose: str
    instead: str | None = None

    @property
    def repair(self) -> str:
        """Return the command that installs the program on Debian and its derivatives."""
        return as_root(f"apt-get install -y {self.package}")


JAVA: Final = Program("java", "openjdk-17-jre-headless", "runs the broker and Connect")
MAVEN: Final = Program("mvn", "maven", "downloads the broker, Connect and Debezium")
CHROMIUM: Final = Program("chromium", "chromium", "shows pages while their delay is measured")
# A Chromium without windows, toolbars and extensions. It needs about half of the CPU time of
# `chromium`.
HEADLESS: Final = Program(
    "chromium-headless-shell",
    "chromium-headless-shell",
    "opens the pages in the browser tests",
    instead=CHROMIUM.name,
)
SETPRIV: Final = Program("setpriv", "util-linux", "ends child processes when the supervisor ends")


def find(program: Program) -> str | None:
    """Return the path of `program`, else the path of its replacement (`instead`), else None.

    For Java, the program in `JAVA_HOME` takes precedence.
    """
    home = os.environ.get("JAVA_HOME")
    if program is JAVA and home and (Path(home) / "bin/java").exists():
        return str(Path(home) / "bin/java")
    return shutil.which(program.name) or (program.instead and shutil.which(program.instead))


def require(program: Program) -> str:
    """Return the path of `program`, or of `instead` if `program` can't be installed.

    If `program` is missing and this process is root, install it with apt-get.

    Raises:
        MissingPrerequisite: the program is missing and could not be installed, and its replacement
        is missing, too.
    """
    found = find(program)
    is_there = found is not None and Path(found).name != program.instead
    if not is_there and os.geteuid() == 0 and shutil.which("apt-get"):
        try:
            _apt_install(program.package)
        except MissingPrerequisite:
            if found is None:
                raise
        found = find(program)
    if found is None:
        message = f"{program.name} is missing: it {program.purpose}"
        raise MissingPrerequisite(message, repair=program.repair)
    return found


def require_java() -> str:
    """Return the path of a Java that is new enough.

    Raises:
        MissingPrerequisite: Java is missing or too old.
    """
    path = require(JAVA)
    major = java_major(path)
    if major < JAVA_AT_LEAST:
        message = f"{path} is Java {major}; the broker needs {JAVA_AT_LEAST} or newer"
        raise MissingPrerequisite(message, repair=JAVA.repair)
    return path


def java_version(path: str) -> str:
    """Return the line with the version from the output of `java -version`, "" if there is none.

    The line isn't always the first one: with `JAVA_TOOL_OPTIONS`, Java prints this variable first.
    """
    result = subprocess.run(  # noqa: S603 -- fixed arguments
        [path, "-version"], capture_output=True, text=True, errors="replace", check=False
    )
    lines = (result.stderr + result.stdout).splitlines()
    return next((line for line in lines if ' version "' in line), "")


def java_major(path: str) -> int:
    """Return the major version of the Java at `path`, such as 17; 0 if Java prints no version."""
    match = re.search(r'version "(\d+)', java_version(path))
    return int(match.group(1)) if match else 0


def _apt_install(package: str) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "-q", "update"],
        ["apt-get", "-q", "install", "-y", "--no-install-recommends", package],
    ):
        result = subprocess.run(  # noqa: S603 -- fixed arguments
            command, env=environment, capture_output=True, text=True, check=False
        )
        if result.returncode:
            message = f"{' '.join(command)} failed: {result.stderr[-800:]}"
            raise MissingPrerequisite(message, repair=as_root(f"apt-get install -y {package}"))


if __name__ == "__main__":
    by_name = {program.name: program for program in (JAVA, MAVEN, HEADLESS, SETPRIV)}
    for wanted in sys.argv[1:]:
        sys.stdout.write(f"{wanted}: {require(by_name[wanted])}\n")
