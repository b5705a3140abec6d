"""Compare the product's fold with the reference model on generated histories.

`python -m tests.oracle.compare --seeds 0-999` names every seed that differs. For the first of them,
it also prints the history without the records that the difference doesn't need.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from cdc.contracts.history import fold_history
from tests.oracle.generate import Record, lines, written
from tests.oracle.partition import fold_lines


class Difference(NamedTuple):
    """The first line that differs between product and model."""

    place: int
    product: str
    model: str


def _read(outputs: Iterator[str]) -> list[Any]:
    """Return the decoded lines. If the fold raises an exception, its text is the last line."""
    found: list[Any] = []
    try:
        found.extend(json.loads(line) for line in outputs)
    except Exception as error:  # noqa: BLE001 -- any failure of a fold is a difference to report
        found.append({"raised": f"{type(error).__name__}: {error}"})
    return found


def difference(records: list[Record], said: list[Any] | None = None) -> Difference | None:
    """Return the first difference between product and model, None if there is none.

    `said` are the model's lines, if it has already folded these records.
    """
    texts = lines(records)
    product = _read(fold_history(iter(texts), every=None))
    model = _read(fold_lines(texts)) if said is None else said
    for place in range(max(len(product), len(model))):
        ours = product[place] if place < len(product) else None
        theirs = model[place] if place < len(model) else None
        if ours != theirs:
            return Difference(place, json.dumps(ours), json.dumps(theirs))
    return None


def shortest(records: list[Record], differs: Callable[[list[Record]], bool]) -> list[Record]:
    """Return `records` without pieces that the difference doesn't need. Try large ones first."""
    size = max(1, len(records) // 2)
    while True:
        start, dropped = 0, False
        while start < len(records):
            candidate = records[:start] + records[start + size :]
            if candidate and differs(candidate):
                records, dropped = candidate, True
            else:
                start += size
        if size == 1 and not dropped:
            return records
        size = max(1, size // 2)


def changed_fields(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the paths at which two lines differ, as `path: product | model`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted({*ours, *theirs})
        pairs = [(name, ours.get(name, "absent"), theirs.get(name, "absent")) for name in names]
        return [text for name, a, b in pairs for text in changed_fields(a, b, f"{path}.{name}")]
    return [] if ours == theirs else [f"{path}: {ours} | {theirs}"]


def report(seed: int, records: list[Record]) -> str:
    """Return the shortest failing history of a seed with both outputs."""
    small = shortest(records, lambda candidate: difference(candidate) is not None)
    found = difference(small)
    if found is None:
        return f"seed {seed}: no difference"
    fields = changed_fields(json.loads(found.product), json.loads(found.model))
    parts = [f"seed {seed}: differs in {len(small)} records at line {found.place}", *lines(small)]
    parts += [f"product {found.product}", f"model   {found.model}", "product | model", *fields]
    return "\n".join(parts)


def failing(seeds: Iterable[int]) -> Iterator[tuple[int, list[Record]]]:
    for seed in seeds:
        world = written(seed)
        if difference(world.records, [*world.said, *world.model.states()]) is not None:
            yield seed, world.records


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0-199", help="first-last, both included")
    parser.add_argument("--show", type=int, default=1, help="histories to shorten and print")
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    count = 0
    for seed, records in failing(seeds):
        count += 1
        text = report(seed, records) if count <= options.show else f"seed {seed}: differs"
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(seeds)} seeds, {count} differ\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
