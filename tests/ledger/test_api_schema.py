"""The OpenAPI document of the API, and requests that schemathesis makes from it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.ledger.inbox import level, state
from tests.ledger.programs import account, program_of
from tests.ledger.rows import price_proposal, reorder_proposal, write
from tests.ledger.test_api_documentation import DEADLINE_S, address

__all__ = ["address"]
EXAMPLES = 25
LONGEST_S = 240  # schemathesis' coverage phase takes one to two minutes, fuzzing the rest
# Left out: its response doesn't end.
STREAM = "/api/v1/decisions/stream"


def test_each_openapi_operation_has_scope_error_responses_and_idempotency_key(
    ledger: psycopg.Connection, address: str
) -> None:
    document = httpx.get(f"{address}/openapi.json", timeout=DEADLINE_S).raise_for_status().json()

    assert document["openapi"] == "3.1.0"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert "Scope `" in operation["description"], path
            assert {"401", "403", "404", "422", "429"} <= operation["responses"].keys(), path
            names = {parameter["name"] for parameter in operation["parameters"]}
            assert ("Idempotency-Key" in names) is (method == "post"), path


@pytest.mark.soak
def test_schemathesis_finds_nothing(
    ledger: psycopg.Connection, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("webui.api.access"), "REQUESTS_A_MINUTE", 1_000_000)
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    level(ledger, state())
    write(ledger, "item_location", supplier="ACME", pack_units=6, cost_minor=250, regular_minor=999)
    write(ledger, "purchase_order_line")
    reorder_proposal(ledger)
    price_proposal(ledger)
    user = account("lead")
    roles = import_module("ledger.people").create_roles()
    user.groups.set(roles.values())
    config = tmp_path / "schemathesis.toml"
    # 422: the request breaks a rule that the schema can't express. 400: it breaks the schema.
    # No address of the site may contain a zero character (webui/config/zero_bytes.py).
    config.write_text(
        "[generation]\nallow-x00 = false\n"
        "[checks.positive_data_acceptance]\n"
        'expected-statuses = ["2xx", "403", "404", "409", "410", "422"]\n'
    )
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)),
        *("run", f"{address}/openapi.json"),
        *("--header", f"Authorization: Bearer {program_of(user).token}"),
        *("--exclude-path", STREAM, "--max-examples", str(EXAMPLES), "--seed", "20260302"),
        *("--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all"),
        *("--max-time", str(LONGEST_S), "--continue-on-failure", "--no-color", "--warnings", "off"),
    ]

    done = subprocess.run(  # noqa: S603 -- a tool of the project
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]


def test_every_api_action_of_the_schema_is_a_tag_of_the_error_messages(
    ledger: psycopg.Connection, address: str
) -> None:
    document = httpx.get(f"{address}/openapi.json", timeout=DEADLINE_S).raise_for_status().json()

    actions = {
        schema["properties"]["action"]["const"]
        for schema in document["components"]["schemas"].values()
        if "const" in schema.get("properties", {}).get("action", {})
    }

    assert actions == import_module("webui.api.problems")._TAGS
