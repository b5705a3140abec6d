"""A check for the form of the rules in this process: Python, or machine code compiled from it.

`inventory workers compile` compiles the rules.
"""

from inventory.fold import record as fold


def are_compiled() -> bool:
    """Return True if the rules run as machine code."""
    return not str(fold.__file__).endswith(".py")
