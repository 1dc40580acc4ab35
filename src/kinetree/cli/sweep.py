"""`kinetree sweep`: many runs with random inputs, specified in a file."""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

from kinetree.cli import source
from kinetree.cli.status import OK, Misuse
from kinetree.cli.text import Style, number, plural, table
from kinetree.errors import KinetreeError

SUMMARY = "run many random variations, on this machine or a cluster"
DESCRIPTION = """Run a function of the robot, or a simulation, for many random inputs as specified in a TOML
file, and print the reduced results. The same file gives the same answer everywhere."""
EXAMPLES = """  kinetree sweep zoo:arm7 --example > sweep.toml
  kinetree sweep zoo:arm7 --spec sweep.toml
  kinetree sweep zoo:arm7 --spec sweep.toml --save runs"""

EXAMPLE = """\
function = "simulate"            # or a function of a model, such as "inverse_dynamics"
n = 10000                        # runs
seed = 1

[fixed]                          # constant arguments: numbers and lists
duration = 0.2
dt = 1e-3

[over]                           # random inputs, by name
q0 = {kind = "uniform", low = -0.5, high = 0.5}
v0 = {kind = "normal", mean = 0.0, deviation = 0.3}
gravity = {kind = "normal", mean = [0, 0, -9.81], deviation = 0.01}

[reduce]                         # the statistics to keep
speed = {kind = "mean", of = "v"}
where = {kind = "quantiles", of = "q", shares = [0.05, 0.5, 0.95]}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    parser.add_argument("--spec", metavar="FILE", help="TOML file that specifies the sweep")
    parser.add_argument("--example", action="store_true", help="print an example TOML file and exit")
    parser.add_argument("--engine", default="local", help="local (default), ray, or ray://HOST:PORT")
    parser.add_argument(
        "--save", metavar="FOLDER", help="save all runs there; saved runs are not repeated"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    if options.example:
        print(EXAMPLE, end="")
        return OK
    if not options.spec:
        raise Misuse("kinetree sweep: give the sweep with --spec FILE; --example prints an example file")
    sweep = read(source.read(options), options.spec, options.engine)
    results = sweep.save(options.save) if options.save else sweep.collect(keep=False)
    if options.json:
        plain = {name: plainly(value) for name, value in results.reduced.items()}
        failed = {str(run): why for run, why in sorted(results.reasons.items())[:100]}
        facts = {"runs": len(sweep), "failed": len(results.reasons), "reasons": failed}
        print(json.dumps(facts | {"processors": results.processors, "reduced": plain}, indent=2))
        return OK
    style = Style()
    print(f"{plural(len(sweep), 'run')}, {len(results.reasons)} failed; {', '.join(results.processors)}")
    for name, value in results.reduced.items():
        print(f"\n{style.bold(name)}")
        rows = [[field, shorter(part)] for field, part in value._asdict().items()]
        print(table(rows))
    for failed, why in sorted(results.reasons.items())[:5]:
        print(f"run {failed}: {why}")
    return OK


def read(model: Any, path: str, engine: str) -> Any:
    """The sweep that a TOML file describes."""
    import numpy as np

    from kinetree import scale
    from kinetree.scale import distributions, reductions, store

    try:
        spec = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise Misuse(f"--spec '{path}' cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise KinetreeError(f"'{path}' is not TOML: {error}") from None
    unknown = set(spec) - {"function", "n", "seed", "chunk", "fixed", "over", "reduce"}
    if unknown:
        raise KinetreeError(
            f"'{path}': unknown entry {', '.join(sorted(unknown))}; see: kinetree sweep --example"
        )
    kinds = {
        "mean": reductions.Mean, "covariance": reductions.Covariance, "quantiles": reductions.Quantile,
        "histogram": reductions.Histogram, "best": reductions.Best,
    }  # fmt: skip
    kept = {}
    for name, entry in spec.get("reduce", {}).items():
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if kind not in kinds:
            raise KinetreeError(f"'{path}': reduce.{name} needs a kind: one of {', '.join(kinds)}")
        try:
            kept[name] = kinds[kind](**{key: x for key, x in entry.items() if key != "kind"})
        except TypeError as error:
            raise KinetreeError(f"'{path}': reduce.{name}: {error}") from None
    over = {name: distributions.from_dict(entry) for name, entry in spec.get("over", {}).items()}
    fixed: dict[str, Any] = {
        name: np.array(x, float) if isinstance(x, list) else x for name, x in spec.get("fixed", {}).items()
    }
    chosen: dict[str, Any] = {key: spec[key] for key in ("n", "seed", "chunk") if key in spec}
    function = store.named(str(spec.get("function", "simulate")), None)
    return scale.map(function, model, over, reduce=kept, engine=engine, **chosen, **fixed)


def plainly(value: Any) -> Any:
    """The result of a reduction as plain data."""
    import numpy as np

    return {name: np.asarray(x).tolist() for name, x in value._asdict().items()}


def shorter(x: Any) -> str:
    """An array on one line."""
    import numpy as np

    flat = np.asarray(x).ravel()
    text = "  ".join(number(float(value)) for value in flat[:6])
    return f"{text}  ..." if len(flat) > 6 else text
