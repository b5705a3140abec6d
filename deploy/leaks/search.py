"""The complete search for secrets in files, processes and HTTP answers."""

from dataclasses import dataclass

from deploy.leaks import files, replies
from deploy.leaks.needles import found_in, needles_of, secrets_of
from deploy.leaks.processes import processes
from deploy.stack.home import Home
from deploy.stack.runtime import read_runtime


@dataclass(frozen=True, slots=True)
class Leak:
    """Name of a secret, and a place that contains the secret although it must not."""

    secret: str
    place: str


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one search: the numbers of secrets, processes and HTTP answers, and every leak."""

    secrets: int
    processes: int
    answers: int
    leaks: tuple[Leak, ...]


def search(home: Home, *, quick: bool = False) -> Found:
    """Search for all secrets of the home. Return the counts and every leak.

    HTTP answers are searched only if the home's stack runs. Of the files, a quick search
    reads only the logs. It also leaves out the pages of logged-in people.
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
