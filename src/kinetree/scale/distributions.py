"""What varies from run to run: distributions, arrays, and files of arrays.

Each source gives the values of any runs, by number. A value depends on the seed, its name and the number of
the run, and on nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model.validate import shown
from kinetree.scale import philox

Array = np.ndarray

RARE = 2.0**-20  # the share of values that a probe ignores


class Source(ABC):
    """Values by run number; see the module."""

    @abstractmethod
    def values(self, runs: Array, shape: tuple[int, ...], key: Array) -> Array:
        """(len(runs), *shape) values."""

    @property
    def count(self) -> int | None:
        """How many runs there are values for; None for any number."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Kind and arguments, ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]
        plain = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in fields.items()}
        return {"kind": type(self).__name__.lower(), **plain}


class Random(Source):
    """A distribution: values are computed from uniform numbers, in NumPy or inside a program."""

    def values(self, runs: Array, shape: tuple[int, ...], key: Array) -> Array:
        return self.formed(philox.uniform(key, runs, self.needed(shape)), shape)

    def needed(self, shape: tuple[int, ...]) -> int:
        """How many uniform numbers a value needs."""
        return math.prod(shape)

    @property
    def probes(self) -> Array:
        """Uniform numbers that give the smallest and the largest values, but for one in a million."""
        return np.array([RARE, 0.25, 1 - RARE])

    @abstractmethod
    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        """Values (..., *shape) from uniform numbers (..., needed), which may be expressions."""


@dataclass(frozen=True)
class Normal(Random):
    """Normal, with a mean and a standard deviation: numbers, or arrays of the shape of the input."""

    mean: Any = 0.0
    deviation: Any = 1.0

    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        standard = normal_quantile(u).reshape((*u.shape[:-1], *shape))
        return np.asarray(self.mean) + np.asarray(self.deviation) * standard


@dataclass(frozen=True)
class Lognormal(Random):
    """Lognormal: exp of a normal number, with a median and the standard deviation of its logarithm."""

    median: Any = 1.0
    deviation: Any = 0.1

    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(self.median) * ops.exp(Normal(0.0, self.deviation).formed(u, shape))


@dataclass(frozen=True)
class Uniform(Random):
    """Uniform between two bounds: numbers, or arrays of the shape of the input."""

    low: Any = 0.0
    high: Any = 1.0

    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        span = np.asarray(self.high) - np.asarray(self.low)
        return np.asarray(self.low) + span * u.reshape((*u.shape[:-1], *shape))


@dataclass(frozen=True)
class OnSphere(Random):
    """Uniform on a sphere of a given radius, in any dimension; in dimension four, random quaternions."""

    radius: float = 1.0

    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        x = Normal().formed(u, shape)
        return self.radius * x / ops.sqrt(np.sum(x * x, -1, keepdims=True))


@dataclass(frozen=True)
class Choice(Random):
    """One of several values, equally likely or with the given weights."""

    options: Any
    weights: Any = None

    def __post_init__(self) -> None:
        options = np.asarray(self.options)
        if options.ndim == 0 or not len(options):
            raise ArgumentError(f"choice: give at least one value, got {shown(self.options)}")
        if self.weights is not None:
            weights = np.asarray(self.weights, float)
            if weights.shape != (len(options),) or (weights < 0).any() or not 0 < weights.sum() < math.inf:
                raise ArgumentError(f"choice: weights must be {len(options)} numbers that are not negative")

    def needed(self, shape: tuple[int, ...]) -> int:
        return 1

    @property
    def probes(self) -> Array:
        """One for each value that is possible."""
        ends = np.arange(1, len(self.options) + 1) / len(self.options) if self.weights is None else self._ends
        starts = np.append(0.0, ends[:-1])
        return ((starts + ends) / 2)[ends > starts]

    def formed(self, u: Array, shape: tuple[int, ...]) -> Array:
        options, one = np.asarray(self.options), u[..., 0]
        if u.dtype == object:
            return self._recorded(options, u[0], shape)
        if self.weights is None:
            place = (one * len(options)).astype(int)
        else:
            place = np.searchsorted(self._ends, one, side="right").clip(0, len(options) - 1)
        return np.broadcast_to(options[place].reshape(*one.shape, *options.shape[1:]), (*one.shape, *shape))

    @property
    def _ends(self) -> Array:
        """The cumulative shares of the values."""
        ends = np.cumsum(np.asarray(self.weights, float))
        return ends / ends[-1]

    def _recorded(self, options: Array, u: Any, shape: tuple[int, ...]) -> Array:
        """The same for an expression: the values become a table of the program."""
        if self.weights is None:
            place = ops.floor(u * float(len(options)))
        else:
            place = sum(ops.where(ops.less(u, end), 0.0, 1.0) for end in self._ends[:-1].tolist())
        table = options.reshape(len(options), -1).astype(float)
        found = [ops.lookup(table, place, float(k)) for k in range(table.shape[1])]
        return np.broadcast_to(np.array(found, object).reshape(options.shape[1:]), shape)


@dataclass(frozen=True)
class Sobol(Source):
    """Quasi-random numbers between two bounds, scrambled by the seed: they fill the box more evenly than
    random ones.
    """

    low: Any = 0.0
    high: Any = 1.0

    def values(self, runs: Array, shape: tuple[int, ...], key: Array) -> Array:
        qmc = needed("scipy.stats.qmc", "kinetree.scale.sobol")
        width = math.prod(shape)
        engine = qmc.Sobol(width, scramble=True, bits=32, seed=np.random.default_rng([int(k) for k in key]))
        start, rows = int(runs[0]), len(runs)
        if start:
            engine.fast_forward(start)
        u = engine.random(rows).reshape(-1, *shape)
        return np.asarray(self.low) + (np.asarray(self.high) - np.asarray(self.low)) * u


@dataclass(frozen=True, eq=False)
class Given(Source):
    """One value for each run, from an array (n, ...)."""

    array: Any

    @property
    def count(self) -> int:
        return len(self.array)

    def values(self, runs: Array, shape: tuple[int, ...], key: Array) -> Array:
        return np.ascontiguousarray(self.array[int(runs[0]) : int(runs[-1]) + 1])


@dataclass(frozen=True)
class File(Source):
    """One value for each run, from a file that is read in chunks: .npy, .parquet (columns) or .zarr.

    Args:
        path: of the file.
        columns: of a table, the columns that make up a value, in order.
    """

    path: str
    columns: Sequence[str] = ()
    _open: list[Any] = field(default_factory=list, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "file", "path": str(Path(self.path).absolute()), "columns": list(self.columns)}

    @property
    def count(self) -> int:
        rows = self._rows()
        return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)

    def values(self, runs: Array, shape: tuple[int, ...], key: Array) -> Array:
        rows = self._rows()[int(runs[0]) : int(runs[-1]) + 1]
        return np.ascontiguousarray(rows, np.float64).reshape(len(runs), *shape)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "columns": tuple(self.columns), "_open": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def _rows(self) -> Any:
        if not self._open:
            self._open.append(self._opened())
        return self._open[0]

    def _opened(self) -> Any:
        path = Path(self.path)
        if not path.exists():
            raise ArgumentError(f"scale.file: there is no {path}")
        if path.suffix == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix == ".parquet":
            return _Table(path, tuple(self.columns))
        if path.suffix == ".zarr":
            return needed("zarr", "a .zarr file", "scale").open_array(str(path), mode="r")
        raise ArgumentError(f"scale.file: {path.name} is none of .npy, .parquet, .zarr")


class _Table:
    """Rows of some columns of a Parquet file, read by row group."""

    def __init__(self, path: Path, columns: tuple[str, ...]):
        parquet = needed("pyarrow.parquet", "a .parquet file", "tables")
        self.file = parquet.ParquetFile(path)
        self.columns = list(columns) or self.file.schema_arrow.names
        missing = set(self.columns) - set(self.file.schema_arrow.names)
        if missing:
            raise ArgumentError(f"scale.file: {path.name} has no column {', '.join(sorted(missing))}")
        groups = [self.file.metadata.row_group(k).num_rows for k in range(self.file.num_row_groups)]
        self.ends = np.cumsum(groups)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, rows: slice) -> Array:
        first = int(np.searchsorted(self.ends, rows.start, side="right"))
        last = int(np.searchsorted(self.ends, rows.stop - 1, side="right"))
        table = self.file.read_row_groups(list(range(first, last + 1)), columns=self.columns)
        start = rows.start - (int(self.ends[first - 1]) if first else 0)
        part = table.slice(start, rows.stop - rows.start)
        return np.stack([np.asarray(part.column(name), np.float64) for name in self.columns], -1)


def normal_quantile(u: Array) -> Array:
    """The normal quantile of a share u, to 1e-15. Wichura (1988), algorithm AS 241."""
    return np.frompyfunc(_quantile, 1, 1)(u) if u.dtype == object else _quantile(u)


def _quantile(u: Any) -> Any:
    centred = u - 0.5
    r = 0.180625 - centred * centred
    inner = centred * _ratio(r, _INNER)
    tail = ops.sqrt(-ops.log(ops.where(ops.less(centred, 0.0), u, 1 - u)))
    outer = ops.where(ops.less_equal(tail, 5.0), _ratio(tail - 1.6, _MIDDLE), _ratio(tail - 5, _OUTER))
    outer = ops.where(ops.less(centred, 0.0), -outer, outer)
    return ops.where(ops.less_equal(ops.abs(centred), 0.425), inner, outer)


def _ratio(x: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (row[-1] for row in coefficients)
    for a, b in zip(reversed(coefficients[0][:-1]), reversed(coefficients[1][:-1]), strict=True):
        above, below = above * x + a, below * x + b
    return above / below


_INNER = (
    (
        3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
        1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
        5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
        2.8729085735721942674e4, 5.2264952788528545610e3,
    ),
)  # fmt: skip
_MIDDLE = (
    (
        1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
        3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
        6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
        5.47593808499534494600e-4, 1.05075007164441684324e-9,
    ),
)  # fmt: skip
_OUTER = (
    (
        6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
        2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
        1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
        1.42151175831644588870e-7, 2.04426310338993978564e-15,
    ),
)  # fmt: skip

normal, lognormal, uniform, on_sphere, choice, sobol, file = (
    Normal,
    Lognormal,
    Uniform,
    OnSphere,
    Choice,
    Sobol,
    File,
)
KINDS = {kind.__name__.lower(): kind for kind in (Normal, Lognormal, Uniform, OnSphere, Choice, Sobol, File)}


def from_dict(data: Any) -> Source:
    """The source that `to_dict` described."""
    if not isinstance(data, dict) or data.get("kind") not in KINDS:
        raise ArgumentError(f"a distribution has a kind, one of {', '.join(KINDS)}; got {shown(data)}")
    kind = KINDS[data["kind"]]
    arguments = {name: x for name, x in data.items() if name != "kind"}
    known = [name for name in kind.__dataclass_fields__ if not name.startswith("_")]  # type: ignore[attr-defined]
    unknown = set(arguments) - set(known)
    if unknown:
        raise ArgumentError(
            f"{data['kind']}: no argument {', '.join(sorted(unknown))}; it takes {', '.join(known)}"
        )
    return kind(**arguments)
