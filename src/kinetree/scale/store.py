"""A sweep in a directory: its specification and finished parts, as JSON and arrays; nothing executable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, FileError
from kinetree.model import Model
from kinetree.names import MODULE_OF
from kinetree.scale.distributions import Given, Source, from_dict
from kinetree.scale.work import Part, Work
from kinetree.stages import Function

SPEC = "sweep.json"
FORMAT = "kinetree sweep 1"
ELSEWHERE = "given again"  # marks what is not data: the caller must give it again


def write_spec(folder: Path, work: Work, n: int, chunk: int) -> None:
    """Write the specification of a sweep; FileError if another sweep is already there."""
    folder.mkdir(parents=True, exist_ok=True)
    fixed, over = {}, {}
    for name, value in work.fixed.items():
        fixed[name] = _plain(value, folder, f"fixed-{_safe(name)}")
    for name, source in work.over.items():
        if isinstance(source, Given):
            file = f"over-{_safe(name)}.npy"
            _atomic(folder / file, lambda path, source=source: np.save(path, source.array))  # type: ignore[misc]
            over[name] = {"kind": "given", "file": file}
        else:
            over[name] = source.to_dict()
    spec = {
        "format": FORMAT, "function": name_of(work.function), "model": work.model.to_dict(), "over": over,
        "fixed": fixed, "seed": work.seed, "n": n, "chunk": chunk, "take": work.take is not None,
    }  # fmt: skip
    text = json.dumps(spec)
    place = folder / SPEC
    if place.exists():
        if place.read_text() != text:
            raise FileError(
                f"'{folder}' holds another sweep: go on with it by kt.scale.resume, or choose another place"
            )
        return
    _atomic(place, lambda path: path.write_text(text))


def read_spec(folder: Path) -> dict[str, Any]:
    """The specification of a sweep."""
    try:
        spec = json.loads((folder / SPEC).read_text())
    except FileNotFoundError:
        raise FileError(f"'{folder}' holds no sweep: there is no {SPEC} in it") from None
    except (OSError, ValueError) as error:
        raise FileError(f"'{folder / SPEC}' cannot be read: {error}") from None
    if not isinstance(spec, dict) or spec.get("format") != FORMAT:
        raise FileError(f"'{folder / SPEC}': its format is not {FORMAT!r}")
    return spec


def read_work(folder: Path, spec: dict[str, Any], function: Any, take: Any, again: dict[str, Any]) -> Work:
    """The work of a saved sweep; what is not data must be given again."""
    over: dict[str, Source] = {}
    for name, entry in spec["over"].items():
        if entry.get("kind") == "given":
            over[name] = Given(np.load(_inside(folder, entry["file"]), mmap_mode="r", allow_pickle=False))
        else:
            over[name] = from_dict(entry)
    fixed = {}
    for name, value in spec["fixed"].items():
        if value == {ELSEWHERE: True}:
            if name not in again:
                raise ArgumentError(f"resume: give {name}= again: it is not data, so it is not in '{folder}'")
            fixed[name] = again[name]
        elif isinstance(value, dict) and "file" in value:
            fixed[name] = np.load(_inside(folder, value["file"]), allow_pickle=False)
        else:
            fixed[name] = value
    if spec["take"] and take is None:
        raise ArgumentError(f"resume: give take= again: it is not data, so it is not in '{folder}'")
    return Work(
        named(spec["function"], function), Model.from_dict(spec["model"]), over, fixed, spec["seed"], take
    )


def name_of(function: Any) -> str:
    """The name of a function in a file; the library's own functions are found by it."""
    return str(getattr(function, "name", None) or getattr(function, "__name__", "function"))


def named(name: str, function: Any) -> Any:
    """The function of a name: the library's own, or the one given, which must have the same name."""
    import kinetree

    if function is not None:
        if name_of(function) != name:
            raise ArgumentError(f"resume: the sweep is of '{name}', and not of '{name_of(function)}'")
        return function
    own = getattr(kinetree, name) if name in MODULE_OF else None
    if isinstance(own, Function) or own is kinetree.simulate:
        return own
    raise ArgumentError(f"resume: '{name}' is a function of your own: give function= again")


def part_path(folder: Path, start: int) -> Path:
    return folder / f"part-{start:012d}.npz"


def write_part(folder: Path, part: Part) -> None:
    """Store a part atomically."""
    facts = {
        "reasons": {str(k): v for k, v in part.reasons.items()},
        "processor": part.processor,
        "stop": part.stop,
    }
    arrays = {f"row_{name}": x for name, x in part.rows.items()}
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)

    def write(path: Path) -> None:
        with open(path, "wb") as file:
            np.savez(file, facts=text, **arrays)  # type: ignore[arg-type]

    _atomic(part_path(folder, part.start), write)


def read_part(folder: Path, start: int, stop: int) -> Part | None:
    """A stored part; None if it is missing or incomplete."""
    path = part_path(folder, start)
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as data:
            facts = json.loads(bytes(data["facts"]))
            rows = {name.removeprefix("row_"): data[name] for name in data.files if name != "facts"}
    except (OSError, ValueError, KeyError, EOFError):
        return None
    if facts.get("stop") != stop or any(len(x) != stop - start for x in rows.values()):
        return None
    return Part(start, rows, {int(k): str(v) for k, v in facts["reasons"].items()}, str(facts["processor"]))


def _plain(value: Any, folder: Path, stem: str) -> Any:
    """A fixed argument as JSON, as a file, or as a mark that it must be given again."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        _atomic(folder / f"{stem}.npy", lambda path: np.save(path, value))
        return {"file": f"{stem}.npy"}
    try:
        if json.loads(json.dumps(value)) == (list(value) if isinstance(value, tuple) else value):
            return value
    except (TypeError, ValueError):
        pass
    return {ELSEWHERE: True}


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)


def _inside(folder: Path, name: str) -> Path:
    """A file directly inside the folder; a name that leads out of it is refused."""
    if Path(name).name != name:
        raise FileError(f"'{folder / SPEC}' names the file '{name}', which is not in that folder")
    return folder / name


def _atomic(place: Path, write: Any) -> None:
    """Write to a temporary file, then rename it."""
    beside = place.with_name(f".{place.name}.{os.getpid()}{place.suffix}")
    try:
        write(beside)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
