"""Defects planted into copies of the engine, to prove that the simulator finds defects.

`python -m tests.simulation.defects` plants all of them, or those with the given names. It prints
which seed finds which defect, with the shortest history. With `--rate` it prints how many of 10,000
seeds find each defect.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.planting import place

PROJECT = Path(__file__).resolve().parents[2]
PLANTED = Path(__file__).parent / "planted"
COPIED = ("inventory", "cdc", "streams", "bench/simulation")
SEEDS = 2_000
PATIENCE_S = 1_200
# The patch of a rare defect names the seed from which to search. From seed 0 it takes minutes.
BEGIN = re.compile(r"^Hunted from seed (\d+)\.$", re.MULTILINE)
HUNT = (
    "import json, sys; from dataclasses import asdict; "
    "from bench.simulation.batches import first_found; "
    "found = first_found(*map(int, sys.argv[1:])); print(json.dumps(found and asdict(found)))"
)
NOTHING = "nothing has to happen: the heartbeat that ends each history is enough"
RATED = 10_000
ENOUGH = 10  # number of failing seeds after which the rate is computed
RATE = """
import json, sys
from bench.simulation.batches import failing_seeds
most, enough = map(int, sys.argv[1:])
ran, failing = 0, []
while ran < most and len(failing) < enough:
    failing += failing_seeds((ran, 100))
    ran += 100
print(json.dumps([ran, failing]))
"""


@dataclass(frozen=True)
class Finding:
    """Result of one run with a planted defect."""

    name: str
    seconds: float
    seed: int | None
    promise: str
    history: tuple[str, ...]


def patches(names: Sequence[str] = ()) -> list[Path]:
    """Return all planted defects in order, or those whose names contain one of `names`."""
    found = sorted(PLANTED.glob("*.patch"))
    return [p for p in found if not names or any(name in p.stem for name in names)]


def plant(patch: Path, where: Path) -> None:
    """Change the sources below `where`.

    Raises:
        DoesNotApply: the lines that the defect changes have changed. Write the patch again.
    """
    for path, text in place(patch.read_text(encoding="utf-8"), where, COPIED).items():
        path.write_text(text, encoding="utf-8")
        # Python would take a module compiled in the same second for the changed source.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


@contextmanager
def planted(patch: Path) -> Iterator[Path]:
    """Yield a copy of the sources that contains the defect."""
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        copy = Path(place)
        for package in COPIED:
            shutil.copytree(PROJECT / package, copy / package)
        shutil.copy(PROJECT / "bench/__init__.py", copy / "bench/__init__.py")
        plant(patch, copy)
        yield copy


def hunt(patch: Path, seeds: int = SEEDS) -> Finding:
    """Run the simulator on the planted defect. Return the result."""
    begin = BEGIN.search(patch.read_text(encoding="utf-8"))
    first = int(begin[1]) if begin else 0
    began = time.monotonic()
    ran = run_planted(patch, HUNT, first, seeds, patience_s=PATIENCE_S)
    seconds = time.monotonic() - began
    if ran.returncode:
        return Finding(patch.stem, seconds, None, ran.stderr, ())
    found = json.loads(ran.stdout)
    if found is None:
        return Finding(patch.stem, seconds, None, f"not found by {seeds} seeds", ())
    history = (*found["steps"], *found["faults"]) or (NOTHING,)
    return Finding(patch.stem, seconds, found["seed"], found["promise"], history)


def rate(patch: Path, seeds: int = RATED) -> str:
    """Return a text with the first seed that shows the defect, and its rate per 10,000 seeds."""
    ran = run_planted(patch, RATE, seeds, ENOUGH, patience_s=None)
    if ran.returncode:
        return ran.stderr
    tried, failing = json.loads(ran.stdout)
    first = failing[0] if failing else "-"
    return f"{first:>6} {len(failing) * 10_000 / tried:8.0f} in 10,000 ({len(failing)} of {tried})"


def run_planted(
    patch: Path, program: str, *arguments: int, patience_s: int | None
) -> subprocess.CompletedProcess[str]:
    """Return the result of a program that runs on a copy of the sources with the defect."""
    with planted(patch) as copy:
        return subprocess.run(  # noqa: S603 -- our own program
            [sys.executable, "-c", program, *map(str, arguments)],
            cwd=copy,
            env={"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=False,
        )


def tell(line: str) -> None:
    """Print the line at once, because all defects together take one to two minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print a line for each defect with the seed that finds it; return 1 if one is not found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="parts of their names; all by default")
    parser.add_argument("--rate", action="store_true", help="how many seeds find each instead")
    asked = parser.parse_args()
    names = asked.names
    if unknown := [name for name in names if not patches([name])]:
        parser.error(f"no planted defect has a name with {', '.join(unknown)}")
    if asked.rate:
        for patch in patches(names):
            tell(f"{patch.stem:45} {rate(patch)}")
        return 0
    findings = []
    for patch in patches(names):
        findings.append(hunt(patch))
        tell_finding(findings[-1])
    missed = [found.name for found in findings if found.seed is None]
    tell(f"{len(findings) - len(missed)} of {len(findings)} planted defects found {missed or ''}")
    return 1 if missed else 0


def tell_finding(found: Finding) -> None:
    """Print the seed that finds one defect, and the history that shows it."""
    seed = "-" if found.seed is None else found.seed
    tell(f"{found.name:45} {seed:>6} {found.seconds:5.1f} s  {found.promise:.110}")
    for line in found.history:
        tell(f"    {line}")


if __name__ == "__main__":
    sys.exit(main())
