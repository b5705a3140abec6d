"""Modules for `python -m`: each imports in a fresh process, as the supervisor starts it."""

import os
import subprocess
import sys

import pytest

from deploy.stack.home import PROJECT


@pytest.mark.parametrize(
    "module", ["webui.__main__", "ledger.automation.heartbeat", "ledger.automation"]
)
def test_a_web_process_module_imports_without_earlier_django_setup(module: str) -> None:
    command = [sys.executable, "-c", f"import {module}"]
    variables = {key: text for key, text in os.environ.items() if not key.startswith("DJANGO_")}

    done = subprocess.run(  # noqa: S603 -- our own modules
        command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
