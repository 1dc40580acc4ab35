"""Results as Markdown tables."""

from __future__ import annotations

from typing import Any

ROBOT_HEAD = """\
| robot | function | flops | compile | one call | Pinocchio | ratio | MuJoCo | per state | Pinocchio | ratio |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"""
SIZE_HEAD = """\
| tree | bodies | function | compile | one state | per body | Pinocchio | ratio |
|---|--:|---|--:|--:|--:|--:|--:|"""

CALL_HEAD = """\
| function | by position | by name | out= | lists | batch of one | Pinocchio | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|"""


def call_line(row: dict[str, Any]) -> str:
    calls = row["calls"]
    ways = ("by position", "by name", "out", "lists", "batch of one", "pinocchio")
    name = row["function"] if row["robot"] == "arm7" else f"{row['function']} ({row['robot']})"
    cells = [name, *(time_of(calls.get(way)) for way in ways)]
    return "| " + " | ".join([*cells, _ratio(calls.get("pinocchio"), calls["by position"])]) + " |"


def robot_line(row: dict[str, Any]) -> str:
    single, batch = row["single"], row["batch"]
    peer = batch.get("pinocchio") or batch.get("pinocchio loop")
    mark = "~" if "pinocchio loop" in batch else ""
    cells = [
        row["robot"],
        row["function"],
        str(row["ops"]["flops"]),
        f"{row['compile_seconds']:.2f} s",
        time_of(single["ours"]),
        time_of(single.get("pinocchio")),
        _ratio(single.get("pinocchio"), single["ours"]),
        time_of(single.get("mujoco")),
        time_of(batch["ours"]) + (f" ({_number(row['cached']['median'])})" if row["cached"] else ""),
        mark + time_of(peer) if peer else "",
        _ratio(peer, batch["ours"]),
    ]
    return "| " + " | ".join(cells) + " |"


def size_line(row: dict[str, Any]) -> str:
    single = row["single"]
    cells = [
        row["robot"],
        str(row["bodies"]),
        row["function"],
        f"{row['compile_seconds']:.2f} s",
        time_of(single["ours"]),
        _number(single["ours"]["median"] / row["bodies"]),
        time_of(single.get("pinocchio")),
        _ratio(single.get("pinocchio"), single["ours"]),
    ]
    return "| " + " | ".join(cells) + " |"


def machine_lines(facts: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    return [
        f"{facts['processor']}, {facts['cores']} cores, {facts['vector bits']}-bit vectors,",
        f"{facts['system']}, Python {facts['python']}, {versions}.",
    ]


def thread_lines(row: dict[str, Any]) -> list[str]:
    (first, one), (last, all_) = row["elapsed"].items()
    cost = {count: timing["median"] for count, timing in row["processor"].items()}
    return [
        f"Inverse dynamics of {row['states']} states of arm7: {time_of(one)} on {first} thread,",
        f"{time_of(all_)} on {last}: {one['median'] / all_['median']:.2f} times as fast. "
        "CPU time of all threads together:",
        f"{_number(cost[first])} and {_number(cost[last])}; on a shared computer, only this shows what "
        "threads cost.",
    ]


def time_of(timing: dict[str, float] | None) -> str:
    """Median and spread."""
    if timing is None:
        return ""
    spread = 100.0 * timing["spread"] / timing["median"] if timing["median"] else 0.0
    return f"{_number(timing['median'])} ±{spread:.0f}%"


def _number(nanoseconds: float) -> str:
    for unit, size in (("ns", 1e3), ("µs", 1e6), ("ms", 1e9), ("s", 1e12)):
        if nanoseconds < size:
            value = nanoseconds / size * 1e3
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def _ratio(peer: dict[str, float] | None, ours: dict[str, float]) -> str:
    return f"{peer['median'] / ours['median']:.1f}" if peer and ours["median"] else ""
