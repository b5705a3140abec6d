"""Value classes get the same constructor as text that their decorator makes (decision 0054)."""

from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import inventory
from deploy.native_values import with_constructors
from inventory.model import state

RULES = Path(inventory.__file__).parent
MODULES = sorted(
    path.relative_to(RULES.parent).with_suffix("").as_posix().replace("/", ".")
    for path in RULES.rglob("[!_]*.py")
)
FEWEST_NATIVE = 40


def rewritten(module: ModuleType) -> dict[str, Any]:
    """Return the names of a module whose source has constructors as text."""
    source = with_constructors(Path(str(module.__file__)).read_text())
    names: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source, str(module.__file__), "exec"), names)  # noqa: S102 -- our own source
    return names


def written(names: dict[str, Any]) -> dict[str, type]:
    """Return the classes of a module that have a constructor as text, by name."""
    return {
        name: found
        for name, found in names.items()
        if isinstance(found, type)
        and is_dataclass(found)
        and found.__module__ == names["__name__"]
        and not vars(found)["__dataclass_params__"].init
    }


def built(made: type, given: dict[str, object]) -> dict[str, object]:
    """Return the fields of a value that is built from `given` and from defaults."""
    value = made(**given)
    return {field.name: getattr(value, field.name) for field in fields(made)}


def texts(values: dict[str, object]) -> list[str]:
    """Return each value as text. Functions are compared by name, because a rewrite copies them."""
    return [getattr(found, "__qualname__", repr(found)) for found in values.values()]


def needed(made: type) -> list[Field[Any]]:
    """Return the fields without a default."""
    return [field for field in fields(made) if MISSING is field.default is field.default_factory]


@pytest.mark.parametrize("name", MODULES)
def test_a_written_constructor_takes_and_fills_the_same_fields(name) -> None:
    module = import_module(name)

    for name_of_class, made in written(rewritten(module)).items():
        origin = getattr(module, name_of_class)
        assert [field.name for field in fields(made)] == [field.name for field in fields(origin)]
        given = {field.name: object() for field in needed(origin)}
        assert texts(built(made, given)) == texts(built(origin, given))
        every = {field.name: object() for field in fields(origin)}
        assert built(made, every) == every


def test_most_values_of_the_rules_get_a_written_constructor() -> None:
    found = [made for name in MODULES for made in written(rewritten(import_module(name)))]

    assert len(found) >= FEWEST_NATIVE
    assert {"KeyState", "Stock", "WindowRow", "Demand", "Effect", "SaleLine"} <= {*found}


def test_each_value_gets_dictionaries_of_its_own() -> None:
    row = rewritten(state)["WindowRow"]

    assert row(0).moves == {}
    assert row(0).moves is not row(0).moves


def test_a_class_with_a_base_and_a_plain_class_stay_as_they_are() -> None:
    source = "@value\nclass A(B):\n    x: int\n\n\nclass C:\n    y: int\n"

    assert with_constructors(source) == source
