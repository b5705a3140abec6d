"""Every writer of a document or record is listed with its schema, or with the reason for none.

New code that writes JSON, Parquet or to a topic fails here until it is listed.
"""

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.stack.home import PROJECT
from tests.cdc.contract import ANSWERS, FILES, KINDS, names
from tests.house.sources import PACKAGES

ENCODERS = {"json.dumps", "json.dump", "orjson.dumps", "write_json", "canonical", "Send"}
SENDERS = {"produce", "send_batch", "send_and_wait", "ParquetWriter", "write_table"}
MEASURING = "bench"  # writes its own topics and files, and those of the engine that it measures

DIGEST = "content of a digest, which nobody reads"
SHOWN = "shown to a person by the release that made it"
READ = "read again by the line behind it"
COLUMN = "a column, versioned by migrations"
HOME = "of one home, read by the release that wrote it; another one is told so"
DEBEZIUM = "Debezium's envelope, as it was captured; only commit times are of now"
PARQUET = "columns told in docs/contracts.md; its line in the manifest has the version"
REPORT = "columns told in docs/roles/analyst.md; no program of ours reads them"
TABLES = "columns told in docs/reference/history-tables.md; the marker has a digest of them"
ASKED = "columns of a person's own statement; no program of ours reads them"
PART = "a part of what stands here by its own name"

WRITERS: dict[str, tuple[str, ...] | str] = {
    "cdc/contracts/decisions.py _dumps": ("reorder_event", "price_event"),
    "cdc/contracts/history.py _printed": SHOWN,
    "cdc/contracts/progress.py _dumps": ("progress", "ring", "beat"),
    "cdc/contracts/rejects.py _dumps": ("stock_late", "stock_rejected"),
    "cdc/contracts/replays.py with_commit_time": DEBEZIUM,
    "cdc/contracts/retained.py encode_retained": ("retained",),
    "cdc/contracts/state.py encode_changed": ("level", "window"),
    "cdc/contracts/state.py encode_state": ("state",),
    "cdc/contracts/state.py encode_window": ("window",),
    "cdc/contracts/state_documents.py canonical": PART,
    "cdc/contracts/state_documents.py _policy_json": PART,
    "cdc/workers.py _key_of": READ,
    "streams/engine/effects.py Writer._lates": ("stock_late",),
    "streams/engine/effects.py Writer._rejections": ("stock_rejected",),
    "streams/engine/effects.py Writer.changed_keys": ("level", "window", "beat", "retained"),
    "streams/engine/effects.py Writer.staged": ("level", "progress", "ring"),
    "streams/engine/effects.py _changelogs": ("window",),
    "streams/engine/effects.py _decision_send": ("reorder_event", "price_event"),
    "streams/engine/level_rows.py _parsed_level": ("state",),
    "streams/engine/level_rows.py _parsed_window": PART,
    "streams/engine/snapshot.py _head": ("snapshot",),
    "streams/engine/snapshot.py _write_frames": ("snapshot",),
    "streams/engine/transactions.py _acknowledge": PART,
    "streams/query/replies.py reply": ANSWERS,
    "streams/sinks/proposal_rows.py _common": COLUMN,
    "streams/worker/topic_identity.py _store": ("topic_ids",),
    "analytics/archive/entries.py line_of": ("archive_file",),
    "analytics/archive/head.py _encoded": ("archive_head",),
    "analytics/archive/rows.py _write_group": PARQUET,
    "analytics/archive/rows.py merge_once": PARQUET,
    "analytics/archive/rows.py write_once": PARQUET,
    "analytics/archive/source.py _encoded": ("archive_source",),
    "analytics/backfill/change/examples.py histories": READ,
    "analytics/backfill/diff/explained.py main": READ,
    "analytics/backfill/diff/revised.py Revised.hash": DIGEST,
    "analytics/backfill/diff/scratch.py Scratch.add": READ,
    "analytics/backfill/diff/scratch.py Scratch.digest": DIGEST,
    "analytics/backfill/diff/tables.py _write": REPORT,
    "analytics/backfill/plan.py named": DIGEST,
    "analytics/backfill/plan.py _encoded": ("plan",),
    "analytics/backfill/seal.py _encoded": ("run",),
    "analytics/heartbeat.py Heartbeat.write_if_due": COLUMN,
    "analytics/engines/failure.py write_failure": READ,
    "analytics/engines/results.py ResultFile.__init__": (
        *("state", "reorder_event", "price_event", "stock_late", "stock_rejected"),
        *("window", "beat"),
    ),
    "analytics/engines/results.py ResultFile._flush": PART,
    "analytics/engines/unit.py _canonical": ("run_unit",),
    "analytics/engines/unit.py _input_digest": DIGEST,
    "analytics/engines/unit.py _selected": DIGEST,
    "analytics/engines/unit.py continued_unit": DIGEST,
    "analytics/history/build.py digest_of": DIGEST,
    "analytics/history/duck.py Answer._written": ASKED,
    "analytics/history/files.py Group.mark": HOME,
    "analytics/history/files.py TableFile.__init__": TABLES,
    "analytics/history/files.py TableFile._flush": PART,
    "analytics/simulation/engine.py _keep": REPORT,
    "analytics/simulation/engine.py _name": DIGEST,
    "analytics/simulation/parts.py PartWriter.__init__": REPORT,
    "analytics/simulation/parts.py PartWriter._flush": REPORT,
    "analytics/verification/rejections.py _as_json": READ,
    "ledger/audit/head.py write": HOME,
    "ledger/kernel/bulk_insert.py insert_documents": READ,
    "ledger/kernel/idempotency.py content_hash": DIGEST,
    "ledger/kernel/idempotency.py run_idempotent": COLUMN,
    "ledger/kernel/service_process.py report_alive": COLUMN,
    "ledger/kernel/transactions.py insert_rows": READ,
    "ledger/kernel/transactions.py log_action": COLUMN,
    "ledger/kernel/transactions.py log_actions": COLUMN,
    "ledger/proofs/service.py record_proof": COLUMN,
    "ledger/requests/execution.py finish": COLUMN,
    "ledger/webhooks/events.py _body": "told in docs/webhooks.md; clients of other systems read it",
    "ledger/requests/execution.py write_snapshot": COLUMN,
    "ledger/requests/queries.py same_request": READ,
    "ledger/requests/service.py ask_history.work": COLUMN,
    "ledger/reviews/service.py _write": COLUMN,
    "webui/live/events.py _event": SHOWN,
    "webui/live/events.py encoded": SHOWN,
    "webui/live/events.py patches_event": SHOWN,
    "webui/api/problems.py answer_problem": SHOWN,
    "webui/api/decisions.py _bye": "described in docs/api.md; clients of the API read it",
    "webui/api/problems.py seen": SHOWN,
    "webui/desks/receiving/codes.py scan_codes": SHOWN,
    "webui/desks/reference/written.py WrittenTable._shown": SHOWN,
    "webui/shell/desk.py shown_values": SHOWN,
    "webui/desks/system/views.py _show_rejected": SHOWN,
    "webui/desks/transfers/views.py _show": READ,
    "webui/desks/system/replay.py _send": DEBEZIUM,
    "deploy/output.py as_json": SHOWN,
    "deploy/revisions/publish.py _missing": ("topic_ids",),
    "deploy/revisions/shadow.py claim": HOME,
    "deploy/revisions/states.py _digest": DIGEST,
    "deploy/stack/daemon.py start_detached": READ,
    "deploy/stack/generation.py move_away": HOME,
    "deploy/stack/generation.py captured": HOME,
    "deploy/stack/home.py Home.secrets": HOME,
    "deploy/stack/home.py write_json": PART,
    "deploy/stack/ports.py choose_ports": HOME,
    "deploy/stack/report.py Reporter.run": HOME,
    "deploy/stack/runtime.py write_runtime": HOME,
    "deploy/stack/runtime.py write_environment": HOME,
    "deploy/stack/seed.py main": HOME,
    "deploy/stack/requested.py write_requested": HOME,
    "webui/config/joined_files.py _source_map": "for debuggers, in the public format",
}


def calls(node: ast.AST, within: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the enclosing function and the name of each call."""
    for child in ast.iter_child_nodes(node):
        inner = within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*within, child.name)
        if isinstance(child, ast.Call):
            yield ".".join(inner), ast.unparse(child.func)
        yield from calls(child, inner)


def formatted(node: ast.AST, within: str = "") -> Iterator[str]:
    """Yield functions that build JSON by hand: they contain bytes that begin with `{"`."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else within
        value = child.value if isinstance(child, ast.Constant) else None
        if type(value) is bytes and value.startswith(b'{"'):
            yield inner
        yield from formatted(child, inner)


def writers(tree: Any) -> set[str]:
    named = {
        function
        for function, called in calls(tree)
        if called in ENCODERS or called.rpartition(".")[2] in SENDERS
    }
    return named | set(formatted(tree))


def found() -> set[str]:
    """Return every function of the project that writes a document or a record."""
    return {
        f"{file.relative_to(PROJECT)} {function}"
        for package in PACKAGES
        if package != MEASURING
        for file in (PROJECT / package).rglob("*.py")
        for function in writers(ast.parse(file.read_text("utf-8")))
    }


def test_every_function_that_writes_a_document_is_listed() -> None:
    assert found() == WRITERS.keys()


def test_every_schema_has_a_writer_and_every_writer_a_schema() -> None:
    told = {kind for kinds in WRITERS.values() if not isinstance(kinds, str) for kind in kinds}

    assert told == {*KINDS, *ANSWERS, *FILES} == {name.rpartition(".v")[0] for name in names()}


@pytest.mark.parametrize(
    "text",
    [
        "def tell(): return json.dumps(1)",
        "class A:\n def tell(self): self.producer.produce('topic', b'')",
        "def tell(): return b'{\"schema\":%d}' % 1",
        "async def tell():\n await producer.send_and_wait('topic', b'')",
    ],
)
def test_a_new_writer_would_be_found(text: str) -> None:
    assert {name.rpartition(".")[2] for name in writers(ast.parse(text))} == {"tell"}
