"""No traceback in a log shows local variables: they hold addresses with passwords."""

import ast
import json

import structlog

from cdc.logs import WITHOUT_LOCALS
from tests.house.sources import PACKAGES, name, parsed, python_files

# Formatters that print local variables by default.
WITH_LOCALS = {"dict_tracebacks", "RichTracebackFormatter", "rich_traceback"}


def test_no_module_enables_local_variables_in_tracebacks() -> None:
    found = [
        f"{name(path)}:{node.lineno}"
        for path in python_files(*PACKAGES)
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Attribute) and node.attr in WITH_LOCALS)
        or (isinstance(node, ast.ImportFrom | ast.Import) and "rich.traceback" in ast.unparse(node))
        or (
            isinstance(node, ast.keyword)
            and node.arg in ("show_locals", "pretty_exceptions_show_locals", "tb_locals")
            and ast.unparse(node.value) != "False"
        )
    ]

    assert found == []


def test_every_formatter_of_tracebacks_leaves_locals_out() -> None:
    """By default, structlog's formatters show local variables."""
    calls = [
        (
            f"{name(path)}:{node.lineno}",
            {word.arg: ast.unparse(word.value) for word in node.keywords},
        )
        for path in python_files(*PACKAGES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and "ExceptionDictTransformer" in ast.unparse(node.func)
    ]

    assert calls
    assert [place for place, words in calls if words.get("show_locals") != "False"] == []


def test_a_logged_failure_holds_the_line_and_no_value() -> None:
    def fail(address: str) -> None:
        message = f"can't connect, the address has {len(address)} characters"
        raise ValueError(message)

    lines: list[str] = []
    renderer = structlog.processors.JSONRenderer()
    try:
        fail("postgresql://app_rw:canary-7c1f@127.0.0.1/retail")
    except ValueError as error:
        event = {"event": "sink failed", "exc_info": error}
        lines.append(str(renderer(None, "", WITHOUT_LOCALS(None, "", event))))

    assert "canary-7c1f" not in lines[0]
    frames = json.loads(lines[0])["exception"][0]["frames"]
    assert frames[-1]["name"] == "fail"
