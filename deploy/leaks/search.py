"""The whole search: files, processes, answers."""

from dataclasses import dataclass

from deploy.leaks import files, replies
from deploy.leaks.needles import found_in, needles_of, secrets_of
from deploy.leaks.processes import processes
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime


@dataclass(frozen=True, slots=True)
class Leak:
    """One secret, by its name, in a place where it may not be."""

    secret: str
    place: str


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one search: how much was searched, and every leak."""

    secrets: int
    processes: int
    answers: int
    leaks: tuple[Leak, ...]


def search(home: Home, *, quick: bool = False) -> Found:
    """Search all places for all secrets of the home. Answers are asked for if its stack runs.

    A quick search reads the logs, but no other files and no pages of people who are logged in.
    """
    secrets = secrets_of(home)
    needles = needles_of(secrets)
    running = list(processes(home))
    answers = (
        list(replies.replies(home, 0 if quick else replies.MOST_PAGES))
        if read_runtime(home).running
        else []
    )
    leaks = [
        Leak(secret, each.place)
        for each in (*running, *answers)
        for secret in sorted(found_in(needles, each.content) - each.allowed)
    ]
    below = home.logs if quick else home.path
    leaks += [Leak(secret, place) for secret, place in files.search(home, needles, below)]
    return Found(len(secrets), len(running) // 2, len(answers), tuple(leaks))
