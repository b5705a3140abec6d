"""Spark's own reading of an archive in a bucket, through Hadoop's client of S3."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.archive.source import write_source_id
from deploy.artifacts.caches import cache_root
from deploy.artifacts.prerequisites import MAVEN, require
from deploy.peers.environments import verify
from deploy.stack.home import PROJECT
from tests.analytics.histories import archived, generate
from tests.analytics.s3_server import Server, running_server

pytestmark = [pytest.mark.soak, pytest.mark.engines]

POM = PROJECT / "tests" / "analytics" / "s3a" / "pom.xml"
WITHIN_S = 600.0
# Arguments: the archive, the server's address, the jars. The environment has the credentials.
PROGRAM = """
import sys
from pyspark.sql import SparkSession

archive, address, jars = sys.argv[1:]
session = SparkSession.builder.master("local[1]").config("spark.jars", jars)
for name, text in (
    ("spark.ui.enabled", "false"),
    ("spark.driver.bindAddress", "127.0.0.1"),
    ("spark.driver.host", "127.0.0.1"),
    ("spark.log.level", "ERROR"),
    ("spark.hadoop.fs.s3a.endpoint", address),
    ("spark.hadoop.fs.s3a.endpoint.region", "eu-central-1"),
    ("spark.hadoop.fs.s3a.path.style.access", "true"),
):
    session = session.config(name, text)
found = session.getOrCreate().read.parquet(archive).groupBy("partition").count().collect()
print(sorted((row["partition"], row["count"]) for row in found))
"""


@pytest.fixture(name="server")
def a_server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path) as found:
        yield found


def jars() -> list[Path]:
    """Return the jars, fetched into the cache once and compared with their list each time."""
    listed = POM.with_name("jars.sha256")
    root = cache_root() / f"s3a-{hashlib.sha256(listed.read_bytes()).hexdigest()[:16]}"
    if not root.exists():
        command = [require(MAVEN), "-B", "-q", "-f", str(POM), f"-Dout={root}", "package"]
        subprocess.run(command, check=True, timeout=WITHIN_S)  # noqa: S603 -- fixed arguments
    verify(root, listed)
    return sorted((root / "libs").glob("*.jar"))


def test_spark_reads_every_row_of_a_bucket_with_the_partition_column(
    server: Server, tmp_path: Path
) -> None:
    manifest = archived(tmp_path / "archive", generate(seed=3, records=300))
    write_source_id(manifest.directory, "id-of-the-topic")
    archive = server.copy(manifest.directory, "archive").replace("s3://", "s3a://")
    expected = Counter[int]()
    for file in manifest.all_files():
        expected[file.partition] += file.rows

    done = subprocess.run(  # noqa: S603 -- a program of this module
        [sys.executable, "-c", PROGRAM, archive, server.address, ",".join(map(str, jars()))],
        cwd=tmp_path,
        env=os.environ | server.variables | {"SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )

    assert done.stdout.splitlines()[-1:] == [str(sorted(expected.items()))], done.stderr[-2000:]
