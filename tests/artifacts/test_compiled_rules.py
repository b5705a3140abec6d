"""Compiled rules give the results of the sources: for the model, the examples and the engine.

Compiling takes half a minute, so these tests are not part of `make check`. The machine keeps the
compiled form of the newest sources; tests of the same sources use a copy of it. `make test` runs
the engine with compiled rules, `make soak` the second implementation and every example.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from deploy import compiled_rules
from deploy.artifacts.caches import cache_root
from deploy.errors import MissingPrerequisite

SEEDS = 150
SAME = (
    "tests/inventory",
    "--ignore=tests/inventory/explain",  # explanations are not compiled
    "tests/regressions",
    "tests/cdc",
    "tests/house/test_domain_vectors.py",
)
KEPT: Final = "compiled-"
# Import the compiled rules before pytest puts the source tree first on `sys.path`. Modules that are
# imported already are not replaced.
RUN_COMPILED = """
import runpy, sys
from streams.rules import are_compiled
sys.argv = sys.argv[1:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as ended:
    sys.exit(ended.code or not are_compiled())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables of a process that imports compiled rules."""
    home = tmp_path_factory.mktemp("home")
    own = compiled_rules.directory(home)
    kept = cache_root() / f"{KEPT}{own.name}-{compiler()}"
    try:
        if kept.is_dir():
            shutil.copytree(kept, own)
        else:
            keep(compiled_rules.ensure(home), kept)
    except MissingPrerequisite as missing:
        pytest.skip(f"{missing}: {missing.repair}")
    return os.environ | compiled_rules.environment(home)


def compiler() -> str:
    """Return a hash of the versions of gcc and mypy, which change the compiled form."""
    gcc = shutil.which("gcc")
    told = subprocess.check_output([gcc, "--version"]) if gcc else b""  # noqa: S603 -- the one that compiles
    return hashlib.sha256(told + version("mypy").encode()).hexdigest()[:8]


def keep(compiled: Path, kept: Path) -> None:
    """Copy the compiled rules to `kept` in one rename, after deleting older copies beside it."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    for older in kept.parent.glob(f"{KEPT}*"):
        shutil.rmtree(older, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".compiled-") as scratch:
        copy = shutil.copytree(compiled, Path(scratch) / compiled.name)
        if not kept.exists():
            copy.rename(kept)


def said(environment: dict[str, str], *arguments: str) -> str:
    """Run Python with these arguments and return its output. Fail if it exits with an error."""
    done = subprocess.run(  # noqa: S603 -- this interpreter
        [sys.executable, *arguments],
        env=environment,
        cwd=compiled_rules.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_process_runs_the_rules_in_the_form_that_it_is_given(environment) -> None:
    asked = ("-c", "from streams.rules import are_compiled; print(are_compiled())")
    interpreted = {**environment, "PYTHONPATH": str(compiled_rules.ROOT)}

    assert (said(environment, *asked), said(interpreted, *asked)) == ("True\n", "False\n")


@pytest.mark.soak
def test_the_independent_model_agrees(environment) -> None:
    compare = ("tests.oracle.compare", "--seeds", f"0-{SEEDS - 1}")

    assert said(environment, "-c", RUN_COMPILED, *compare) == f"{SEEDS} seeds, 0 differ\n"


@pytest.mark.soak
def test_every_example_of_the_rules_holds(environment) -> None:
    own = {**environment, "HYPOTHESIS_PROFILE": "quick"}

    told = said(own, "-c", RUN_COMPILED, "pytest", "-q", "-p", "no:cacheprovider", *SAME)

    assert " passed" in told


def test_the_engine_keeps_its_promises_with_them(environment) -> None:
    simulate = ("deploy.cli.main", "bench", "simulate", "--seeds", f"{SEEDS}", "--workers", "1")

    assert f"{SEEDS} seeds" in said(environment, "-c", RUN_COMPILED, *simulate)
