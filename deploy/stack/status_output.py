"""Output of `inventory status` for a person."""

from collections.abc import Iterator
from typing import Any

from deploy import output
from deploy.stack.capture import RESUME, repair_of
from inventory.explain.formatting import counted_text


def show_status(found: dict[str, Any]) -> None:
    """Print the document of `collect` as text for a person."""
    rows = [
        (name, s["state"], s["pid"], s["restarts"], s["url"] or "")
        for name, s in found["services"].items()
    ]
    # This is not always the deciding revision. If another one decides, a problem names both.
    revision = f"workers of logic revision {found['logic_revision']}"
    title = f"{found['phase']} · {found['home']} · {revision}"
    output.table(title, ("service", "state", "pid", "restarts", "address"), rows)
    lines = [line for name, s in found["services"].items() for line in _history(name, s)]
    lines += _figures(found) if found["phase"] != "down" else []
    lines += [f"no answer about {name}: {why}" for name, why in found["unanswered"].items()]
    lines += [f"problem: {sentence}" for sentence in found["not_well"]]
    lines += [f"{name}: {found[name]}" for name in ("error", "repair") if found[name]]
    for line in lines:
        output.console.print(line)


def _figures(found: dict[str, Any]) -> Iterator[str]:
    if state := found.get("connector"):
        repairs = state["repairs"]
        yield f"connector {state['connector']} · task {state['task']} · {repairs} repairs"
        if state["paused_by"]:
            yield f"capture is paused by {state['paused_by']}; repair: {RESUME}"
        if state["problem"]:
            yield f"capture: {state['problem']}; repair: {repair_of(state)}"
    for reader, lag in (found.get("lag") or {}).items():
        yield f"lag {reader}: {counted_text(lag['records'], 'record')}, {lag['seconds']} s"
    file = found["runtime_file"]
    refused = f"; later writes failed: {file['write_error']}" if file["write_error"] else ""
    yield f"runtime.json written {file['age_seconds']} s ago{refused}"
    fresh = found.get("freshness_seconds")
    yield f"freshness {'unknown' if fresh is None else f'{fresh} s'}"
    yield f"rejected records {found['rejected']} · late sales {found['late']}"


def _history(name: str, service: dict[str, Any]) -> Iterator[str]:
    """Yield lines about a service's earlier exits and repairs. Each line begins with "earlier"."""
    if service["last_exit"] is not None:
        yield f"earlier: {name} ended with exit code {service['last_exit']}"
    if service["last_repair"]:
        times = counted_text(service["repairs"], "time")
        yield f"earlier: {name} repaired {times}; last step: {service['last_repair']}"
