"""Flags, class-data archives and logging configuration of both JVMs: broker and Connect."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

from deploy.artifacts.fetch import Artifacts
from deploy.artifacts.prerequisites import java_version
from deploy.errors import StackError
from deploy.parts import JVM_COMPILERS, LOCAL_JVM, properties
from deploy.stack.context import Context

# The only variables that a JVM inherits, because Connect's REST API may return any variable of its
# process.
_INHERITED: Final = frozenset({"PATH", "HOME", "JAVA_HOME", "TMPDIR", "TZ"})
# Java decodes paths by the locale. With LC_ALL=C it can open only paths in ASCII.
_LOCALE: Final = {"LC_ALL": "C.UTF-8"}
_LOG4J: Final = {
    "status": "warn",
    "name": "retail",
    "appender.out.type": "Console",
    "appender.out.name": "OUT",
    "appender.out.layout.type": "PatternLayout",
    "appender.out.layout.pattern": "%d{ISO8601} %p %c{1} [%t] %m%n",
    "rootLogger.level": "INFO",
    "rootLogger.appenderRef.out.ref": "OUT",
    # With level INFO, the first logger writes a line for each request. The second one writes a line
    # for each attempt to reach a broker that is down.
    "logger.rest.name": "org.apache.kafka.connect.runtime.rest.RestServer",
    "logger.rest.level": "WARN",
    "logger.metadata.name": "org.apache.kafka.clients.admin.internals.AdminMetadataManager",
    "logger.metadata.level": "WARN",
}


def archive_file(artifacts: Artifacts, java: str, part: str) -> Path:
    """Return the path of the class-data archive (AppCDS) of `part` (`broker` or `connect`).

    The path depends on the version of Java, because a JVM ignores the archive of another version.
    """
    digest = hashlib.sha256(java_version(java).encode()).hexdigest()[:8]
    return artifacts.root / f"cds-{digest}" / f"{part}.jsa"


def parts_of(context: Context) -> tuple[Artifacts, str]:
    """Return the JVM parts (broker, Connect, Debezium) and the path of Java, to start a JVM.

    Raises:
        StackError: the JVM parts are not fetched.
    """
    if context.artifacts is None or not context.java:
        message = "Kafka, Connect and Debezium are not downloaded"
        raise StackError(message, repair="inventory fetch")
    return context.artifacts, context.java


def write_config(context: Context, name: str, settings: dict[str, str]) -> Path:
    """Write `settings` as a properties file of mode 0600 below `config`. Return its path."""
    path = context.home.config / name
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(properties(settings), encoding="ascii")
    return path


def environment(**extra: str) -> dict[str, str]:
    """Return the complete environment of a JVM.

    It has `extra`, the locale, and the few inherited variables that contain no secret.
    """
    kept = {name: value for name, value in os.environ.items() if name in _INHERITED}
    return kept | _LOCALE | extra


def command(
    context: Context, part: str, flags: tuple[str, ...], main: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the command line of the JVM for `part`, and write its logging configuration.

    If the part has a class-data archive, the command uses it.
    """
    artifacts, java = parts_of(context)
    logging = write_config(context, "log4j2.properties", _LOG4J)
    archive = archive_file(artifacts, java, part)
    sharing = (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto") if archive.exists() else ()
    return (
        java,
        *JVM_COMPILERS[context.options.jvm_compilers],
        *LOCAL_JVM,
        *sharing,
        *flags,
        f"-Dlog4j2.configurationFile={logging}",
        f"-Dkafka.logs.dir={context.home.logs}",
        # The compression codecs unpack their native libraries in this directory.
        f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        "-cp",
        artifacts.class_path,
        *main,
    )
