"""A Python with the packages that this project needs, but without the project itself."""

import subprocess
import sys
import sysconfig
from pathlib import Path


def python_without_project(directory: Path) -> Path:
    """Create a venv whose `.pth` file adds this environment's packages. Return its Python.

    A `.pth` file in the environment installs the project. Python doesn't read the `.pth` files of
    a directory that another `.pth` file adds, so the venv lacks the project.
    """
    subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True
    )
    python = directory / "bin" / "python"
    packages = directory / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "registries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python
