"""The web server's module can be imported by a process without any Django setup."""

import subprocess
import sys

from deploy.stack.home import PROJECT


def test_the_server_sets_django_up_before_it_loads_a_model() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import webui.__main__"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
