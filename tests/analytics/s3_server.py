"""An S3-compatible server on loopback as a child process: moto, in an environment of its own.

moto needs other versions of some packages than the project, so it has a lock file of its own. The
server checks the signature of each call. The server ends when this process closes the server's
input, or when this process ends, even by SIGKILL.
"""

import fcntl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyarrow.fs import S3FileSystem

from analytics.archive.names import HEAD, MANIFEST, SOURCE
from deploy.artifacts.caches import cache_root
from deploy.peers.environments import python_of
from deploy.stack.home import PROJECT

BUCKET = "history"
REGION = "eu-central-1"
_LOCK = PROJECT / "requirements" / "peers-moto.txt"
_ENDS_S = 20.0
_SERVER = """
import json
import sys
from moto import settings
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

account, bucket, region = "123456789012", *sys.argv[1:]
s3_backends[account]["aws"].create_bucket(bucket, region)
people = iam_backends[account]["aws"]
people.create_user(region, "reader")
allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
policy = {"Version": "2012-10-17", "Statement": [allowed]}
people.put_user_policy("reader", "all", json.dumps(policy))
key = people.create_access_key("reader")
settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
print(f"http://{host}:{port}", key.access_key_id, key.secret_access_key, flush=True)
sys.stdin.read()
server.stop()
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server with one empty bucket, and the key of a user who may do everything."""

    address: str
    key: str
    secret: str

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment of a client."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": REGION,
        }

    def put(self, prefix: str, name: str, content: bytes) -> None:
        """Write one object."""
        with self._client().open_output_stream(f"{BUCKET}/{prefix}/{name}") as stream:
            stream.write(content)

    def delete(self, prefix: str, name: str) -> None:
        """Delete one object."""
        self._client().delete_file(f"{BUCKET}/{prefix}/{name}")

    def copy(self, archive: Path, prefix: str, *, without: str = "") -> str:
        """Copy an archive without the file `without`, the head last. Return the copy's URL."""
        files = sorted(str(path.relative_to(archive)) for path in archive.glob("partition=*/seq-*"))
        for name in (*files, SOURCE, MANIFEST, HEAD):
            if name != without:
                self.put(prefix, name, (archive / name).read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    def _client(self) -> S3FileSystem:
        return S3FileSystem(
            access_key=self.key,
            secret_key=self.secret,
            endpoint_override=self.address.removeprefix("http://"),
            scheme="http",
            region=REGION,
        )


@contextmanager
def running_server(directory: Path) -> Iterator[Server]:
    """Run a server until the end of the block."""
    python = _python()
    log = (directory / "s3-server.log").open("wb")
    with (
        log,
        subprocess.Popen(  # noqa: S603 -- a program of this module
            [str(python), "-c", _SERVER, BUCKET, REGION],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Server(*process.stdout.readline().split())
        finally:
            process.stdin.close()
            process.wait(timeout=_ENDS_S)


def _python() -> Path:
    """Install moto if it is missing. Return its Python. The lock makes other processes wait."""
    with (cache_root() / f".{_LOCK.stem}.lock").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        return python_of(_LOCK, print)
