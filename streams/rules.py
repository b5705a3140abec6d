"""The form of the rules in this process: Python source, or machine code compiled from it.

The environment that starts the process chooses the form (`inventory workers compile`).
"""

from inventory.fold import record as fold


def are_compiled() -> bool:
    """Return True if the rules run as machine code."""
    return not str(fold.__file__).endswith(".py")
