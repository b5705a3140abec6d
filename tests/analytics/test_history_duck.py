"""DuckDB answers questions over the tables. No statement writes a file or reads another file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analytics.history.duck import DuckHistory, QueryRefused
from analytics.history.opened import Request, open_history
from tests.analytics.histories import generate
from tests.analytics.two_runs import a_home


@pytest.fixture(name="files", scope="module")
def files_of_a_history(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    # A quote in the path: DuckDB gets it as text.
    home = a_home(tmp_path_factory.mktemp("duck") / "ho'me", generate(seed=4, records=200))
    home.run()
    return open_history(home.settings, Request()).files


@pytest.fixture(name="duck")
def a_session(
    files: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DuckHistory]:
    monkeypatch.chdir(tmp_path)
    found = DuckHistory(files, tmp_path / "spill")
    yield found
    found.close()


def asked(duck: DuckHistory, text: str) -> list[tuple[object, ...]]:
    [answer] = list(duck.run(text))
    return list(answer.rows())


def test_every_history_table_can_be_queried_by_its_name(
    duck: DuckHistory, files: dict[str, list[str]]
) -> None:
    assert asked(duck, "SHOW TABLES") == [(name,) for name in sorted(files)]
    for name, paths in files.items():
        rows = sum(pq.read_metadata(path).num_rows for path in paths)
        assert asked(duck, f"SELECT count(*) FROM {name}") == [(rows,)]  # noqa: S608 -- own names


def test_times_are_utc_and_have_the_functions_of_spark(duck: DuckHistory) -> None:
    text = "TIMESTAMPTZ '1969-12-31 23:59:58.5Z'"

    [found] = asked(duck, f"SELECT {text}, unix_seconds({text}), unix_micros({text})")

    assert found == (datetime(1969, 12, 31, 23, 59, 58, 500_000, UTC), -2, -1_500_000)


def test_statements_are_answered_in_order(duck: DuckHistory) -> None:
    answers = [(one.columns, list(one.rows())) for one in duck.run("SELECT 1 AS a; SELECT 2 AS b")]

    assert answers == [(("a",), [(1,)]), (("b",), [(2,)])]
    assert list(duck.run(" ; -- nothing\n")) == []


@pytest.mark.parametrize(
    "allowed",
    [
        "FROM states",
        "DESCRIBE states",
        "SUMMARIZE states",
        "VALUES (1)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "explain SELECT 1",
        "EXPLAIN ANALYZE\nSELECT count(*) FROM log",
    ],
)
def test_read_only_statements_are_allowed(duck: DuckHistory, allowed: str) -> None:
    assert asked(duck, allowed)


@pytest.mark.parametrize(
    "refused",
    [
        "COPY log TO 'x.csv'",
        "COPY (SELECT 1) TO '{own}' (FORMAT parquet, USE_TMP_FILE false)",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{own}' (FORMAT parquet, USE_TMP_FILE false)",
        "-- explain \nEXPLAIN ANALYZE CREATE TABLE a AS\nSELECT 1",
        "/* explain analyze */ EXPLAIN ANALYZE COPY log TO '{own}'",
        "EXPORT DATABASE 'x'",
        "ATTACH 'x.db'",
        "CREATE TABLE a AS SELECT 1",
        "DROP VIEW log",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET lock_configuration = false",
        "SET enable_external_access = true",
        "RESET allowed_paths",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "CHECKPOINT",
        "SELECT 1; COPY log TO 'x.csv'",
    ],
)
def test_statements_that_write_or_change_settings_are_refused(
    duck: DuckHistory, files: dict[str, list[str]], tmp_path: Path, refused: str
) -> None:
    own = files["log"][0]
    before = Path(own).read_bytes()

    with pytest.raises(QueryRefused, match="is no query") as error:
        list(duck.run(refused.format(own=own.replace("'", "''"))))

    assert error.value.kept == "nothing was changed"
    assert error.value.step
    assert Path(own).read_bytes() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "source",
    [
        "'other.parquet'",
        "read_parquet('other.parquet')",
        "read_csv('/etc/passwd')",
        "read_text('/etc/passwd')",
        "glob('/etc/*')",
        "read_parquet('https://example.com/a.parquet')",
        "read_parquet('s3://bucket/a.parquet')",
        "variable_of_this_process",
    ],
)
def test_queries_cannot_read_other_files_urls_or_variables(
    duck: DuckHistory, files: dict[str, list[str]], tmp_path: Path, source: str
) -> None:
    variable_of_this_process = pq.read_table(files["log"][0], partitioning=None)
    pq.write_table(variable_of_this_process, tmp_path / "other.parquet")

    with pytest.raises(QueryRefused, match="DuckDB: "):
        asked(duck, f"SELECT * FROM {source}")  # noqa: S608 -- the tested text


@pytest.mark.parametrize(
    ("text", "message", "step"),
    [
        ("SELEC 1", "syntax error", "correct the statement"),
        ("SELECT no_such FROM states", "no_such", "show tables"),
        ("SELECT 1 FROM no_such", "no_such", "show tables"),
        ("SELECT CAST(sku AS INT) FROM states", "Conversion Error", "correct the statement"),
    ],
)
def test_an_error_has_the_message_of_duckdb_and_a_next_step(
    duck: DuckHistory, text: str, message: str, step: str
) -> None:
    with pytest.raises(QueryRefused, match=message) as refused:
        asked(duck, text)

    assert step in refused.value.step
    assert asked(duck, "SELECT 1") == [(1,)]


def test_rows_go_to_a_parquet_file_with_their_types(duck: DuckHistory, tmp_path: Path) -> None:
    [answer] = duck.run("SELECT id, flags, decided_at FROM decisions ORDER BY id, revision")

    count = answer.write_parquet(tmp_path / "needs.parquet")

    table = pq.read_table(tmp_path / "needs.parquet")
    assert table.num_rows == count > 0
    assert table.schema.field("id").type == pa.string()
    assert table.schema.field("flags").type.value_type == pa.string()
    assert table.schema.field("decided_at").type == pa.timestamp("us", tz="UTC")


def test_a_failed_statement_leaves_the_former_parquet_file(
    duck: DuckHistory, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"former")
    [answer] = duck.run("SELECT CAST(sku AS INT) FROM states")

    with pytest.raises(QueryRefused):
        answer.write_parquet(path)

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [
        ("a.parquet", b"former")
    ]
