"""The rules as machine code say what the sources say: to the model, the examples and the engine.

Compiling takes half a minute, so this is no part of `make check`.
"""

import os
import subprocess
import sys

import pytest

from deploy import compiled_rules

SEEDS = 300
# It changes a limit, and mypyc has put the number where the name stood.
WITHOUT = "not test_too_many_members_break_an_invariant"
# Before pytest puts the tree in front of everything: what is loaded stays.
WITH_RULES_FIRST = """
import sys, pytest
from streams.rules import are_compiled
sys.exit(pytest.main(sys.argv[1:]) or not are_compiled())
"""
SAME = (
    "tests/inventory",
    "tests/policies",
    "tests/regressions",
    "tests/cdc",
    "tests/house/test_domain_vectors.py",
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a process that takes compiled rules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INVENTORY_CACHE", str(tmp_path_factory.mktemp("cache")))
        compiled_rules.ensure()
        return os.environ | compiled_rules.environment()


def said(environment: dict[str, str], *arguments: str) -> str:
    """What Python prints with compiled rules; fails where it fails."""
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


def test_the_independent_model_agrees(environment) -> None:
    told = said(environment, "-m", "tests.oracle.compare", "--seeds", f"0-{SEEDS - 1}")

    assert f"{SEEDS}" in told


@pytest.mark.parametrize("tests", SAME)
def test_every_example_of_the_rules_holds(environment, tests: str) -> None:
    own = {**environment, "HYPOTHESIS_PROFILE": "quick"}
    assert (compiled_rules.ROOT / tests).exists()

    told = said(own, "-c", WITH_RULES_FIRST, "-q", "-p", "no:cacheprovider", "-k", WITHOUT, tests)

    assert " passed" in told


def test_the_engine_keeps_its_promises_with_them(environment) -> None:
    command = ("-m", "deploy.cli.main", "bench", "simulate", "--seeds", f"{SEEDS}")

    assert f"{SEEDS:,} " in said(environment, *command, "--workers", "1")
