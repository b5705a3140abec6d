"""docs/notebooks/history.ipynb on a small generated history, without Jupyter.

`python -m tests.analytics.notebook` runs every cell and writes its output into the file. A test
compares the file with a new run, so the page has the charts of the present code.
"""

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from tests.analytics.trade import six_weeks
from tests.analytics.two_runs import a_home

PATH = Path(__file__).parents[2] / "docs" / "notebooks" / "history.ipynb"


def executed(notebook: dict[str, Any], home: Path) -> dict[str, Any]:
    """Return the notebook with the output of each code cell, run from top to bottom in `home`."""
    known: dict[str, Any] = {}
    cells = []
    with mock.patch.dict(os.environ, {"INVENTORY_HOME": str(home)}):
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] == "code":
                count = number + 1
                outputs = _outputs("".join(cell["source"]), known, count)
                cells.append(cell | {"execution_count": count, "outputs": outputs})
            else:
                cells.append(cell)
    return notebook | {"cells": cells}


def a_home_with_a_run(directory: Path) -> Path:
    """Return a home with six weeks of trade and a finished run."""
    found = a_home(directory / "home", six_weeks())
    found.run()
    return found.settings.home


def encoded(notebook: dict[str, Any]) -> str:
    """Return the notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, known: dict[str, Any], count: int) -> list[dict[str, Any]]:
    *statements, last = ast.parse(source).body
    is_shown = isinstance(last, ast.Expr)
    printed, shown = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        begin = ast.Module(statements if is_shown else [*statements, last], [])
        exec(compile(begin, str(PATH), "exec"), known)  # noqa: S102 -- our own notebook
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), str(PATH), "eval"), known)  # noqa: S307 -- as above
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue()})
    if shown is not None:
        outputs.append(_result(shown, count))
    return outputs


def _result(shown: Any, count: int) -> dict[str, Any]:
    data = {"text/plain": repr(shown)}
    if hasattr(shown, "_repr_svg_"):
        data = {"image/svg+xml": shown._repr_svg_(), "text/plain": f"<{type(shown).__name__}>"}
    head = {"data": data, "execution_count": count, "metadata": {}}
    return head | {"output_type": "execute_result"}


def main() -> None:
    """Write the outputs of a new run into the file."""
    notebook = json.loads(PATH.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as directory:
        found = executed(notebook, a_home_with_a_run(Path(directory)))
    PATH.write_text(encoded(found), encoding="utf-8")


if __name__ == "__main__":
    main()
