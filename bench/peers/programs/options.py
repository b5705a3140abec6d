"""Command-line options of every peer."""

import argparse
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """Address of the broker, the input topic, the peer's consumer group and its directory."""

    bootstrap: str
    topic: str
    name: str
    directory: Path

    @property
    def level_topic(self) -> str:
        """Return the name of the on-hand changelog."""
        return f"{self.name}-on_hand-changelog"

    @property
    def window_topic(self) -> str:
        """Return the name of the changelog of windows."""
        return f"{self.name}-windows-changelog"

    def mark_first(self) -> None:
        """Create the file that signals the arrival of the first record."""
        (self.directory / "first").touch()


def read_options() -> Options:
    """Return the options of this process."""
    parser = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--directory", required=True, type=Path)
    return Options(**vars(parser.parse_args()))
