"""The secrets of a home, and the encodings in which a search looks for each of them."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.stack.home import Home

# The search leaves out shorter secrets, because unrelated text would match them.
_SHORTEST: Final = 8
Needles = Mapping[str, tuple[bytes, ...]]


def secrets_of(home: Home) -> dict[str, str]:
    """Return a map from name to secret: passwords of roles and demo people, tokens and keys.

    The map lacks the secrets of a missing file, and secrets of less than 8 characters.
    """
    found = _read(home.path / "secrets.json")
    people = _read(home.logins_file)
    found |= {f"login {person}": password for person, password in people.items()}
    return {name: secret for name, secret in found.items() if len(secret) >= _SHORTEST}


def needles_of(secrets: Mapping[str, str]) -> Needles:
    """Return the forms of each secret: its bytes, hexadecimal, and base64 at three alignments.

    Base64 encodes groups of three bytes. A secret may begin at each of the three positions in a
    group, and each position gives another text.
    """
    return {name: tuple(_forms(secret.encode())) for name, secret in secrets.items()}


def found_in(needles: Needles, content: bytes) -> set[str]:
    """Return the names of the secrets of which `content` contains any form."""
    return {name for name, forms in needles.items() if any(form in content for form in forms)}


def longest(needles: Needles) -> int:
    """Return the length in bytes of the longest form of any secret, 0 if there is no secret.

    A form is the secret itself or an encoding of it. The search reads a file in chunks. They
    overlap by this length, so that the search finds a form at the border of two chunks.
    """
    return max((len(form) for forms in needles.values() for form in forms), default=0)


def _forms(secret: bytes) -> set[bytes]:
    forms = {secret, secret.hex().encode()}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        # Leave out the first and last characters if they also contain bits of neighbouring bytes.
        first, last = -(-shift * 8 // 6), (shift + len(secret)) * 8 // 6
        forms |= {encoded[first:last], encoded[first:last].replace(b"+", b"-").replace(b"/", b"_")}
    return forms


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {str(name): str(value) for name, value in content.items()}
