"""In which form this process runs the rules: as they are written, or as machine code of the same.

Which of them a process takes is decided by whoever starts it (`inventory workers compile`).
"""

from inventory import fold


def are_compiled() -> bool:
    """Whether the rules are machine code here."""
    return not str(fold.__file__).endswith(".py")
