"""Run the peers one at a time in blocks, every second block in reverse order; report all runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from bench.peers import trial
from bench.peers.groups import wake_groups
from bench.peers.peer import SALES, Peer, PeerContext, Services
from bench.peers.report import Report
from bench.peers.sales import Sales, Sums, draw
from bench.peers.topics import ends, produce
from bench.peers.trial import Trial
from bench.peers.worker_prelude import opening

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Size of a benchmark: records, keys, peers, and blocks (`rounds`).

    Each block has one run per peer.
    """

    records: int
    keys: int
    peers: Sequence[Peer]
    rounds: int
    timeout_s: float

    def order(self) -> Iterator[Peer]:
        """Yield each peer once per block. Every second block has the reverse order: A B B A."""
        for block in range(self.rounds):
            yield from self.peers if block % 2 == 0 else reversed(self.peers)

    def size(self, peer: Peer) -> int:
        """Return the number of sale lines for the peer."""
        return self.records if peer.most_records is None else min(self.records, peer.most_records)

    def topic(self, peer: Peer) -> str:
        """Return the topic of the peer's input."""
        size = self.size(peer)
        return peer.input if size == self.records else f"{peer.input}.{size}"


@dataclass(frozen=True, slots=True)
class Input:
    """A topic, its number of records, and the sums of its sale lines."""

    topic: str
    length: int
    expected: Sums


def run(plan: Plan, services: Services, scratch: Path, progress: Progress) -> Report:
    """Produce the input once, then measure each peer. Return the report of all trials.

    A trial has figures only if the peer's outputs were correct.
    """
    sales = draw(plan.records, plan.keys)
    whole = sales.sums()
    size = f"{len(whole.on_hand):,} keys, {len(whole.windows):,} windows"
    progress(f"{plan.records:,} records, {size}")
    wake_groups(services.bootstrap)
    inputs = _produced(plan, services, sales)
    trials: list[Trial] = []
    for number, peer in zip(count(1), plan.order(), strict=False):
        problem = trial.environment_problem(peer, services)
        if problem:
            trials.append(Trial(peer.name, problem=problem))
        else:
            name = peer.fixed_name or f"{peer.name}-{number}"
            given = inputs[plan.topic(peer)]
            context = PeerContext(services, given.topic, name, scratch / f"{number}", plan.keys)
            context.directory.mkdir()
            trials.append(trial.run(peer, context, given.length, given.expected, plan.timeout_s))
        progress(_verdict(trials[-1]))
    return Report(plan.peers, trials, len(whole.on_hand), len(whole.windows))


def _produced(plan: Plan, services: Services, sales: Sales) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for peer in plan.peers:
        topic = plan.topic(peer)
        if topic not in inputs:
            part = sales.first(plan.size(peer))
            before = () if peer.input == SALES else opening(plan.keys)
            produce(services.bootstrap, topic, chain(before, part.records()))
            length = sum(ends(services.bootstrap, topic).values())
            inputs[topic] = Input(topic, length, part.sums())
    return inputs


def _verdict(done: Trial) -> str:
    if done.differing:
        return f"{done.peer}: WRONG, {done.differing:,} keys and windows differ"
    right = "every key and window right" if done.figures else ""
    return f"{done.peer}: {'; '.join(part for part in (right, done.problem) if part)}"
