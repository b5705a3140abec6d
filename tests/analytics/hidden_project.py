"""A Python with this project's packages from registries, but without the project itself."""

import subprocess
import sys
import sysconfig
from pathlib import Path


def python_without_project(directory: Path) -> Path:
    """Create a venv whose `.pth` file names this environment's packages. Return its Python.

    Python ignores the `.pth` files of a directory that is named in this way. The project is
    installed by such a file, so the venv lacks it.
    """
    subprocess.run(  # noqa: S603 -- our own interpreter
        [sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True
    )
    python = directory / "bin" / "python"
    packages = directory / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "registries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python
