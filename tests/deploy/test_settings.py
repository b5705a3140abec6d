"""`.env.example` has exactly the variables that the settings classes read."""

import ast
import re

import pytest
from pydantic import ValidationError

from cdc.settings import Connections
from deploy.stack.home import PROJECT
from tests.house.sources import PACKAGES, parsed, python_files

# Variables that the command line and the supervisor read without a settings class.
BY_THE_COMMAND = {"INVENTORY_CACHE", "INVENTORY_JVM_COMPILERS", "INVENTORY_POSTGRES_BIN"}


def default_of(value: ast.expr | None) -> str | None:
    """Return the default as a variable would spell it; None if a process computes its own."""
    match value:
        case ast.Constant():
            return str(value.value)
        case ast.Call(func=ast.Name(id="Field")):
            named = {word.arg: word.value for word in value.keywords}
            return default_of(named.get("default"))
        case ast.Call(args=[inner]):
            return default_of(inner)
        case _:
            return None


def settings_classes() -> list[ast.ClassDef]:
    """Return the classes from the sources, because some modules need a configured Django."""
    found = {
        node.name: node
        for path in python_files(*PACKAGES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
    }

    def reads_settings(name: str) -> bool:
        bases = map(ast.unparse, found[name].bases) if name in found else ()
        return name == "BaseSettings" or any(reads_settings(base) for base in bases)

    return [node for name, node in found.items() if reads_settings(name)]


def fields() -> dict[str, str | None]:
    """Return every variable of a settings class with its default."""
    return {
        f"INVENTORY_{line.target.id.upper()}": default_of(line.value)
        for node in settings_classes()
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def known() -> set[str]:
    return {*fields(), *BY_THE_COMMAND}


def test_the_env_example_has_exactly_the_variables_of_the_settings() -> None:
    text = (PROJECT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#? ?(INVENTORY_[A-Z_]+)=", text, re.MULTILINE))

    assert named == known()


def test_the_env_example_shows_the_defaults() -> None:
    text = (PROJECT / ".env.example").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^#(INVENTORY_[A-Z_]+)=(.*)$", text, re.MULTILINE))
    defaults = {name: value for name, value in fields().items() if value is not None}

    assert {name: shown.get(name, defaults[name]) for name in defaults} == defaults


def test_a_malformed_value_is_named_with_the_expected_form(monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_PARTITIONS", "a dozen")

    with pytest.raises(ValidationError) as refused:
        Connections()

    assert "partitions" in str(refused.value)
    assert "a dozen" in str(refused.value)
    assert "integer" in str(refused.value)


def test_secrets_are_printed_masked() -> None:
    text = repr(Connections())

    assert "postgresql://" not in text
    assert "**********" in text
