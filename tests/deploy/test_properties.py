"""Values of Java properties files for paths with any characters."""

import re

from hypothesis import given
from hypothesis import strategies as st

from deploy.parts import properties


def read_as_java(line: str) -> tuple[str, str]:
    """Return name and value as `java.util.Properties` reads a line."""
    name, value = line.rstrip("\n").split("=", 1)
    parts = re.findall(r"\\u([0-9a-f]{4})|\\(.)|([^\\])", value)
    units = [int(code, 16) if code else ord(sign or plain) for code, sign, plain in parts]
    return name, b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")


def test_a_path_with_letters_beyond_ascii_is_written_in_escapes() -> None:
    assert properties({"log.dirs": "/srv/Läden 1/kafka"}) == "log.dirs=/srv/L\\u00e4den 1/kafka\n"
    assert properties({"a": "b\\c=d:#"}) == "a=b\\\\c=d:#\n"


@given(st.text(min_size=1).filter(lambda text: not text[0].isspace()))
def test_every_value_is_read_back(value: str) -> None:
    written = properties({"name": value})

    assert written.isascii()
    assert written.count("\n") == 1
    assert read_as_java(written) == ("name", value)
