"""Trajectories in files and tables."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.constraints import Constraint
from kinetree.errors import ArgumentError, FileError, KinetreeError, SimulationError
from kinetree.model import Model
from kinetree.model.serialize import ground_entry, ground_of
from kinetree.motion.trajectory import Event, Failure, Trajectory

FORMAT = "kinetree trajectory 1"
MARK = "# "


def save(run: Trajectory, path: str | Path) -> Path:
    """Write a trajectory; see `Trajectory.save`."""
    path = Path(path)
    write = {".npz": _npz, ".csv": _csv, ".parquet": _parquet}.get(path.suffix)
    if write is None:
        raise ArgumentError(
            f"save: cannot write {path.name!r}: use a name that ends in .npz, .csv or .parquet"
        )
    try:
        handle, beside = tempfile.mkstemp(suffix=path.suffix, prefix=f".{path.stem}-", dir=path.parent or ".")
        try:
            with os.fdopen(handle, "wb") as file:
                write(run, file)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, 0o666 & ~_umask())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        failure = SimulationError(
            f"save: {str(path)!r} could not be written: {error}; what was there before is unchanged, and the "
            "trajectory is still in memory: save it elsewhere"
        )
        failure.trajectory = run
        raise failure from error
    return path


def load(path: str | Path) -> Trajectory:
    """Read a trajectory; see `Trajectory.load`."""
    path = Path(path)
    read = {".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}.get(path.suffix)
    if read is None:
        raise ArgumentError(f"load: cannot read {path.name!r}: trajectories are .npz, .csv or .parquet files")
    try:
        return read(path)
    except OSError as error:
        raise FileError(
            f"load: {str(path)!r} cannot be read: {error.strerror or error}. Check the path."
        ) from error
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        if isinstance(error, KinetreeError):
            raise
        raise SimulationError(f"load: {str(path)!r} is not a trajectory of kinetree: {error}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# -- what is not an array, as text


def _facts(run: Trajectory) -> str:
    facts = {
        "format": FORMAT,
        "model": run.model.to_dict(),
        "settings": _plain_settings(run),
        "batch": run.batch,
        "interrupted": run.interrupted,
        "failed": [f._replace(q=f.q.tolist(), v=f.v.tolist()) for f in run.failed],
        "events": [e._replace(q=e.q.tolist(), v=e.v.tolist()) for e in run.events],
    }
    return json.dumps(facts)


def _plain_settings(run: Trajectory) -> dict[str, Any]:
    """The settings of a run, as JSON."""
    ground = ground_entry(run.ground) if run.ground else False
    return run.settings | {"constraints": [c.to_dict() for c in run.constraints], "ground": ground}


def _from_facts(text: str, arrays: dict[str, np.ndarray]) -> Trajectory:
    facts = json.loads(text)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    model = Model.from_dict(facts["model"])
    batch, records = tuple(facts["batch"]), len(arrays["t"])
    cores = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "f_ext": (model.nbodies, 6)}
    for name, core in cores.items():
        if name in arrays and arrays[name].shape != (*batch, records, *core):
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {(*batch, records, *core)}")
    constraints = tuple(Constraint.from_dict(c) for c in facts["settings"].get("constraints", ()))
    ground = facts["settings"].get("ground", False)
    settings = {"constraints": constraints, "ground": ground_of(ground, "ground") if ground else False}
    extra = {name.removeprefix("extra_"): x for name, x in arrays.items() if name.startswith("extra_")}
    return Trajectory(
        model,
        arrays["t"],
        arrays["q"],
        arrays["v"],
        arrays["tau"],
        f_ext=arrays.get("f_ext"),
        extra=extra,
        failed=tuple(_happened(Failure, row) for row in facts["failed"]),
        events=tuple(_happened(Event, row) for row in facts["events"]),
        settings=facts["settings"] | settings,
        parameters=arrays.get("parameters"),
        gravity=arrays.get("gravity"),
        interrupted=bool(facts["interrupted"]),
    )


def _happened(kind: Any, row: list) -> Any:
    found = kind(*row)
    return found._replace(state=tuple(found.state), q=np.array(found.q), v=np.array(found.v))


# -- npz: arrays as they are, without pickle


def _arrays(run: Trajectory) -> dict[str, np.ndarray]:
    found = {"t": run.t, "q": run.q, "v": run.v, "tau": run.tau}
    for name in ("f_ext", "parameters", "gravity"):
        if getattr(run, name) is not None:
            found[name] = getattr(run, name)
    return found | {f"extra_{name}": x for name, x in run.extra.items()}


def _npz(run: Trajectory, file: Any) -> None:
    np.savez_compressed(file, facts=np.array(_facts(run)), **_arrays(run))  # type: ignore[arg-type]


def _from_npz(path: Path) -> Trajectory:
    with np.load(path, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files if name != "facts"}
        return _from_facts(str(data["facts"]), arrays)


# -- tables: a row for each record of each state


def columns(run: Trajectory) -> dict[str, np.ndarray]:
    """The table: batch indices, time, and every number of q, v, tau, f_ext and the other records, by name."""
    shape = run.shape
    found: dict[str, np.ndarray] = {}
    for axis, index in enumerate(np.indices(shape)[:-1]):
        found[f"state{axis}" if len(shape) > 2 else "state"] = index.ravel()
    found["t"] = np.broadcast_to(run.t, shape).ravel()
    names = coordinate_names(run.model)
    for letter, array in (("q", run.q), ("v", run.v), ("tau", run.tau)):
        for k, name in enumerate(names["q" if letter == "q" else "v"]):
            found[f"{letter}:{name}"] = array[..., k].ravel()
    others: dict[str, Any] = {"f_ext": run.f_ext} | {f"extra_{name}": x for name, x in run.extra.items()}
    for name, array in others.items():
        if array is not None:
            flat = array.reshape(*shape, -1)
            sizes = ",".join(map(str, array.shape[len(shape) :]))
            for k in range(flat.shape[-1]):
                found[f"{name}({sizes})[{k}]"] = flat[..., k].ravel()
    return found


def coordinate_names(model: Model) -> dict[str, list[str]]:
    """A name for each position and velocity: that of the joint, numbered where it has several."""
    found: dict[str, list[str]] = {"q": [], "v": []}
    dependent = {velocity for loop in model.loops for velocity in loop.dependent}
    for body in model.bodies:
        if body.mimic is not None:
            continue
        name = body.joint_name
        for space, width in (("q", body.joint.nq), ("v", body.joint.nv)):
            kept = [k for k in range(width) if space == "q" or (name, k) not in dependent]
            found[space] += [name if width == 1 else f"{name}.{k}" for k in kept]
    return found


def _from_columns(text: str, table: dict[str, np.ndarray]) -> Trajectory:
    facts = json.loads(text)
    model = Model.from_dict(facts["model"])
    batch = tuple(facts["batch"])
    names = coordinate_names(model)
    rows = len(table["t"])
    if not rows:
        raise ValueError("it has no rows")
    records = rows // max(1, int(np.prod(batch)))
    shape = (*batch, records)

    def stacked(letter: str, space: str) -> np.ndarray:
        found = [table[f"{letter}:{name}"] for name in names[space]]
        return np.stack(found, -1).reshape(*shape, len(found)) if found else np.zeros((*shape, 0))

    arrays = {
        "t": table["t"][:records],
        "q": stacked("q", "q"),
        "v": stacked("v", "v"),
        "tau": stacked("tau", "v"),
    }
    for name in dict.fromkeys(key.partition("[")[0] for key in table if key.endswith("]") and "(" in key):
        label, _, sizes = name.rstrip(")").partition("(")
        core = tuple(int(s) for s in sizes.split(",") if s)
        count = int(np.prod(core))
        flat = np.stack([table[f"{name}[{k}]"] for k in range(count)], -1)
        arrays[label] = flat.reshape(*shape, *core)
    for name in ("parameters", "gravity"):
        if facts.get(name) is not None:
            arrays[name] = np.array(facts[name])
    types = facts.get("types", {})  # absent in older files
    return _from_facts(text, {name: x.astype(types.get(name, x.dtype)) for name, x in arrays.items()})


def _table_facts(run: Trajectory) -> str:
    facts = json.loads(_facts(run))
    for name in ("parameters", "gravity"):
        array = getattr(run, name)
        facts[name] = None if array is None else array.tolist()
    facts["types"] = {name: str(array.dtype) for name, array in _arrays(run).items()}
    return json.dumps(facts)


def _csv(run: Trajectory, file: Any) -> None:
    table = columns(run)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    text.write(f"{MARK}{_table_facts(run)}\n")
    writer = csv.writer(text)
    writer.writerow(table)
    for row in zip(*(column.tolist() for column in table.values()), strict=True):
        writer.writerow([x if isinstance(x, int) else repr(x) for x in row])
    text.flush()
    text.detach()


def _from_csv(path: Path) -> Trajectory:
    with open(path, encoding="utf-8", newline="") as file:
        first = file.readline()
        if not first.startswith(MARK):
            raise ValueError("it does not begin with a line that describes it")
        rows = csv.reader(file)
        names = next(rows, None)
        if names is None:
            raise ValueError("it has no table after its first line")
        data = np.array([[float(x) for x in row] for row in rows]).reshape(-1, len(names))
    return _from_columns(first[len(MARK) :], dict(zip(names, data.T, strict=True)))


def _parquet(run: Trajectory, file: Any) -> None:
    arrow, parquet = _needed("pyarrow"), _needed("pyarrow.parquet")
    table = arrow.table(columns(run))
    parquet.write_table(table.replace_schema_metadata({"kinetree": _table_facts(run)}), file)


def _from_parquet(path: Path) -> Trajectory:
    table = _needed("pyarrow.parquet").read_table(path)
    facts = (table.schema.metadata or {}).get(b"kinetree")
    if facts is None:
        raise ValueError("it has no description of a trajectory")
    found = {name: table[name].to_numpy() for name in table.column_names}
    return _from_columns(facts.decode(), found)


def to_pandas(run: Trajectory) -> Any:
    """A pandas table; see `Trajectory.to_pandas`."""
    return _needed("pandas").DataFrame(columns(run))


def to_xarray(run: Trajectory) -> Any:
    """An xarray dataset; see `Trajectory.to_xarray`."""
    xarray = _needed("xarray")
    names = coordinate_names(run.model)
    axes = [f"state{k}" if len(run.batch) > 1 else "state" for k in range(len(run.batch))]
    variables = {
        "q": ((*axes, "t", "position"), run.q),
        "v": ((*axes, "t", "velocity"), run.v),
        "tau": ((*axes, "t", "velocity"), run.tau),
        "energy": ((*axes, "t"), run.energy),
    }
    return xarray.Dataset(variables, {"t": run.t, "position": names["q"], "velocity": names["v"]})


def _needed(name: str) -> Any:
    """An optional package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise SimulationError(f"this needs {package}: pip install {package}") from None
