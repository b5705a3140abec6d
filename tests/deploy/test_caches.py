"""Cache directories for all clones, also if `HOME` is unset, read-only or of another account."""

import os
from pathlib import Path

import pytest

from deploy.artifacts import caches, install, machine_lock
from deploy.errors import StackError

MACHINE = dict(os.environ)


@pytest.fixture(autouse=True)
def without_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "INVENTORY_CACHE", "UV_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_the_cache_is_in_the_home_and_variables_override_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    of_home = caches.cache_root()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    of_desktop = caches.cache_root()
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path / "mine"))

    assert of_home == tmp_path / ".cache/retail-inventory"
    assert of_desktop == tmp_path / "xdg/retail-inventory"
    assert caches.cache_root() == tmp_path / "mine"
    assert caches.uv_cache() is None


@pytest.mark.parametrize("home", [None, "/proc", "/proc/version", "relative", "/nonexistent/home"])
def test_without_a_writable_home_the_cache_is_in_a_directory_per_account(monkeypatch, home) -> None:
    if home:
        monkeypatch.setenv("HOME", home)

    root = caches.cache_root()

    assert root == Path(f"/var/tmp/retail-inventory-{os.getuid()}")  # noqa: S108 -- the name is the test
    assert caches.uv_cache() == root / "uv"
    assert not Path("/nonexistent/home").exists()


def test_maven_gets_a_directory_where_its_own_cannot_be_written(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path))
    monkeypatch.setattr(caches, "_home_of_account", lambda: Path("/proc"))
    assert caches.maven_repository() == tmp_path / "maven"

    monkeypatch.setattr(caches, "_home_of_account", lambda: tmp_path)
    assert caches.maven_repository() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another account's directory")
def test_a_directory_of_another_account_is_not_trusted(tmp_path, monkeypatch) -> None:
    (tmp_path / ".cache/retail-inventory").mkdir(parents=True)
    os.chown(tmp_path / ".cache/retail-inventory", 12345, -1)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert caches.cache_root() != tmp_path / ".cache/retail-inventory"


def test_a_machine_without_a_directory_to_write_is_refused_with_the_candidates(
    monkeypatch,
) -> None:
    monkeypatch.setattr(caches, "_can_be_ours", lambda _: False)

    with pytest.raises(StackError, match="nothing was fetched") as refused:
        caches.cache_root()

    assert "/var/tmp/retail-inventory-" in str(refused.value)  # noqa: S108 -- the name is the test
    assert refused.value.repair == 'INVENTORY_CACHE="$(mktemp -d)" make demo'


LOCK = """\
alpha==1 \\
    --hash=sha256:aa
pyspark==4.3.0 \\
    --hash=sha256:bb
setuptools==80.9.0 \\
    --hash=sha256:cc \\
    --hash=sha256:dd
"""


def kept_wheel(cache: Path) -> Path:
    """Write a wheel as an earlier installation would leave it. Return its path."""
    target = cache / f"pyspark-{install.key(LOCK)}"
    target.mkdir()
    wheel = target / "pyspark-4.3.0-py2.py3-none-any.whl"
    wheel.write_bytes(b"built once")
    (target / "sha256").write_text(install._sha256(wheel), encoding="ascii")
    return wheel


def test_a_cached_wheel_is_installed_by_its_hash_and_not_built_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path))
    monkeypatch.setattr(install, "_build", lambda *_: pytest.fail("built again"))
    kept = kept_wheel(tmp_path)

    wanted = install.requirements(LOCK, install.wheel(LOCK, tmp_path))

    assert f"pyspark @ {kept.as_uri()} --hash=sha256:{install._sha256(kept)}" in wanted
    assert "alpha==1 \\\n    --hash=sha256:aa\n" in wanted
    assert "sha256:bb" not in wanted
    assert wanted.count("==") == 2


@pytest.mark.parametrize("damage", [b"another wheel", None])
def test_a_changed_wheel_is_built_again(tmp_path, monkeypatch, damage) -> None:
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path))
    built: list[str] = []

    def build(entry: str, target: Path, _programs: Path) -> Path:
        built.append(entry)
        return target

    monkeypatch.setattr(install, "_build", build)
    kept = kept_wheel(tmp_path)
    if damage:
        kept.write_bytes(damage)
    else:
        (kept.parent / "sha256").unlink()

    assert install.wheel(LOCK, tmp_path) == kept.parent
    assert built == ["pyspark==4.3.0 \\\n    --hash=sha256:bb"]


def test_the_cache_key_of_a_wheel_depends_on_its_source_and_builder() -> None:
    keys = {
        install.key(LOCK),
        install.key(LOCK.replace("bb", "b0")),
        install.key(LOCK.replace("80.9.0", "81.0.0")),
    }

    assert len(keys) == 3
    assert install.key(LOCK.replace("alpha==1", "alpha==2")) == install.key(LOCK)


@pytest.mark.engines
def test_a_source_with_another_hash_is_not_built(tmp_path, monkeypatch) -> None:
    for name, value in MACHINE.items():
        monkeypatch.setenv(name, value)
    programs = install.installer()
    source = tmp_path / "pyspark-4.3.0.tar.gz"
    source.write_bytes(b"not the locked source")
    entry = f"pyspark @ {source.as_uri()} --hash=sha256:{'0' * 64}"

    with pytest.raises(StackError, match="DO NOT MATCH THE HASHES"):
        install._build(entry, tmp_path, programs)
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.parametrize("version", [(3, 10), (3, 13)])
def test_another_python_is_refused_before_anything_is_installed(version) -> None:
    install.refuse_unsupported((3, 11))
    with pytest.raises(StackError, match="Nothing was installed") as refused:
        install.refuse_unsupported(version)

    assert refused.value.repair == "make demo PYTHON=python3.11"


def test_the_wait_for_another_installation_times_out_and_names_its_process(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_CACHE", str(tmp_path))
    monkeypatch.setattr(machine_lock, "_WAIT_S", 0.0)
    named = pytest.raises(StackError, match=f"process {os.getpid()} of another clone")
    with machine_lock.machine_lock("installer"):
        with named as refused, machine_lock.machine_lock("installer"):
            pytest.fail("both hold it")
        with machine_lock.machine_lock("pyspark"):
            pass

    assert refused.value.repair == "make install"
    with machine_lock.machine_lock("installer"):
        pass
