"""Constructors for value classes in the sources that mypyc compiles.

The decorator `inventory.model.value.value` makes a class when a process starts, so mypyc can only
leave it to the interpreter. Every object then costs a call of an interpreted `__init__`, and each
integer in it is an object of its own. Here each value class gets the same constructor as text.
mypyc makes it a native class: fields at fixed offsets, integers unboxed. `dataclass` adds
comparison, text and `fields` as before.

Classes with a base stay interpreted: mypyc allows one base, and these have mixins.
"""

import ast
from typing import Final

_DECORATOR: Final = "value"
_IMPORT: Final = "from inventory.model.value import"
_NATIVE: Final = ("from dataclasses import dataclass", "@dataclass(init=False)")


def with_constructors(source: str) -> str:
    """Return the source of a module in which plain value classes have a constructor as text."""
    lines = source.splitlines()
    nodes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    classes = [node for node in nodes if _is_plain_value(node)]
    for made in reversed(classes):  # from the end: a new line moves only the lines after it
        lines.insert(made.end_lineno or made.lineno, _constructor(_fields(made)))
        lines[made.decorator_list[0].lineno - 1] = _NATIVE[1]
    if classes:
        at = next(at for at, line in enumerate(lines) if line.startswith(_IMPORT))
        lines.insert(at, _NATIVE[0])
    return "\n".join([*lines, ""])


def _is_plain_value(node: ast.ClassDef) -> bool:
    return (
        [ast.unparse(name) for name in node.decorator_list] == [_DECORATOR]
        and not node.bases
        and bool(_fields(node))
    )


def _fields(made: ast.ClassDef) -> list[ast.AnnAssign]:
    return [node for node in made.body if isinstance(node, ast.AnnAssign)]


def _constructor(fields: list[ast.AnnAssign]) -> str:
    """Return the text of `__init__` in one line, with the fields as parameters in their order."""
    parameters, assignments = [], []
    for field in fields:
        parameter, made = _parameter(field)
        parameters.append(parameter)
        assignments.append(f"self.{ast.unparse(field.target)} = {made}")
    return f"    def __init__(self, {', '.join(parameters)}) -> None: {'; '.join(assignments)}"


def _parameter(field: ast.AnnAssign) -> tuple[str, str]:
    """Return a parameter with type and default, and the expression of the field's value."""
    name, kind, default = ast.unparse(field.target), ast.unparse(field.annotation), field.value
    if default is None:
        return f"{name}: {kind}", name
    options = _field_options(default)
    if options is None:
        return f"{name}: {kind} = {ast.unparse(default)}", name
    if "default" in options:
        return f"{name}: {kind} = {ast.unparse(options['default'])}", name
    factory = options["default_factory"]
    body = factory.body if isinstance(factory, ast.Lambda) else None
    made = f"{ast.unparse(factory)}()" if body is None else ast.unparse(body)
    return f"{name}: {kind} | None = None", f"{made} if {name} is None else {name}"


def _field_options(default: ast.expr) -> dict[str, ast.expr] | None:
    """Return the arguments of a default `field(…)`, and None for any other default."""
    if not isinstance(default, ast.Call) or ast.unparse(default.func) != "field":
        return None
    return {option.arg: option.value for option in default.keywords if option.arg}
