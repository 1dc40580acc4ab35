"""`kinetree simulate`: release a robot and report its motion, with an energy audit, data and a plot."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli import source
from kinetree.cli.status import FINDINGS, OK, Misuse
from kinetree.cli.text import Style, duration, indent, number, plural, printable, table
from kinetree.errors import ArgumentError, KinetreeError, MissingPackageError

if TYPE_CHECKING:
    from kinetree.model import Model
    from kinetree.motion import Trajectory

SUMMARY = "simulate a robot: motion, energy audit, data and a plot"
DESCRIPTION = """Simulate a robot from its neutral position, or from a given state, under gravity, the
passive forces of its joints and contact. A floating robot that would start in the ground is raised onto it.
Report where the energy went, and save the motion."""
EXAMPLES = """  kinetree simulate panda.urdf
  kinetree simulate zoo:arm7 --q joint2=1,joint4=-1.2 --duration 3
  kinetree simulate zoo:double_pendulum --random 7 --output swing.csv
  kinetree simulate robot.xml --plot swing.png --json"""

INTEGRATORS = ("discrete", "rk4", "variational", "dopri5")
DATA = (".npz", ".csv", ".parquet")
PLOTS = (".png", ".pdf", ".svg")


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser)
    positive, length = source.within(float, 1e-300, 1e6, "a time above 0"), "simulated time (default 5)"
    parser.add_argument("--duration", type=positive, default=5.0, metavar="S", help=length)
    parser.add_argument("--dt", type=positive, default=1e-3, metavar="S", help="time step (default 0.001)")
    method = "integrator (default: discrete)"
    parser.add_argument("--integrator", choices=INTEGRATORS, default="discrete", help=method)
    parser.add_argument("--q", type=values, default={}, metavar="JOINT=X,...", help="initial positions")
    parser.add_argument("--v", type=values, default={}, metavar="JOINT=X,...", help="initial velocities")
    parser.add_argument("--random", type=int, metavar="SEED", help="start from a random state")
    parser.add_argument("--no-passive", action="store_true", help="no damping, friction and springs")
    parser.add_argument("--no-limits", action="store_true", help="no stops at the joint limits")
    motion = f"where to save the motion: {', '.join(DATA)} (default ROBOT.npz)"
    parser.add_argument("--output", metavar="FILE", help=motion)
    plot = f"where to save the plot: {', '.join(PLOTS)} (default: next to the motion)"
    parser.add_argument("--plot", metavar="FILE", help=plot)
    parser.add_argument("--json", action="store_true", help="print JSON")


def values(text: str) -> dict[str, float]:
    """JOINT=X,... as a dictionary."""
    found = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise argparse.ArgumentTypeError(f"'{part}' is not JOINT=NUMBER")
    return found


def run(options: argparse.Namespace) -> int:
    data = place(options.output, DATA, "--output")
    picture = place(options.plot, PLOTS, "--plot")
    model = source.read(options)
    if model.nv == 0:
        raise KinetreeError(f"'{model.name}' has no degrees of freedom: nothing in it can move")
    q, v = start(model, options)
    q, rise = raised(model, q) if options.integrator == "discrete" else (q, 0.0)
    begin = time.perf_counter()
    run, notes = simulated(model, q, v, options)
    notes += [f"raised onto the ground, by {rise:.3g} m"] if rise else []
    seconds = time.perf_counter() - begin
    stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in model.name) or "robot"
    data = run.save(data or Path(f"{stem}.npz"))
    saved = {"data": str(data)}
    try:
        saved["plot"] = str(draw(run, picture or data.with_suffix(".png")))
    except MissingPackageError as missing:
        if options.plot:
            raise
        notes.append(str(missing))
    report = audit(run) | {"seconds": seconds, "saved": saved, "notes": notes}
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        write(Style(sys.stdout), run, report)
    return FINDINGS if run.failed else OK


def place(file: str | None, endings: tuple[str, ...], option: str) -> Path | None:
    """The path given by an option; a wrong extension or a missing folder is refused before any work."""
    if file is None:
        return None
    path = Path(file)
    if path.suffix.lower() not in endings:
        raise Misuse(f"{option} '{file}' must end in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise Misuse(f"{option} '{file}': there is no folder '{path.parent}'")
    return path


def start(model: Model, options: argparse.Namespace) -> tuple[Any, Any]:
    """The initial state."""
    import numpy as np

    q, v = model.neutral(), np.zeros(model.nv)
    if options.random is not None:
        if options.random < 0:
            raise Misuse(f"--random is {options.random}; give a number from 0 up")
        q, v = model.random_state(options.random)
    for given, array, index in ((options.q, q, model.position_index), (options.v, v, model.coordinate_index)):
        for name, value in given.items():
            at = index(name)
            depends = at.stop == at.start and model.position_index(name) != slice(at.start, at.start)
            if depends and model.loops:
                raise Misuse(f"joint '{name}' depends on others in a loop: give their velocities instead")
            if at.stop - at.start != 1:
                raise Misuse(f"joint '{name}' has {plural(at.stop - at.start, 'coordinate')}, not one")
            array[at] = value
    return model.assemble(q, fixed=tuple(options.q)) if model.loops and options.q else q, v


def raised(model: Model, q: Any) -> tuple[Any, float]:
    """The position with every floating robot raised out of the ground, and how far at most."""
    import numpy as np

    import kinetree as kt
    from kinetree.motion.contact import own_ground, sunk

    ground = own_ground(model)
    rises = {} if ground is None else sunk(model, q, ground)
    if not any(rises.values()):
        return q, 0.0
    poses, up = kt.placements(model, q), np.zeros(model.nv)
    for root, rise in rises.items():  # its velocity is in its own axes
        end = model.coordinate_index(model.bodies[root - 1].joint_name).stop
        up[end - 3 : end] = rise * poses[root - 1, 2, :3]
    return model.integrate(q, up), max(rises.values())


def simulated(model: Model, q: Any, v: Any, options: argparse.Namespace) -> tuple[Trajectory, list[str]]:
    """The run and its warnings."""
    import kinetree as kt

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = {name: getattr(options, name) for name in ("duration", "dt", "integrator")}
        passive, limits = not options.no_passive, not options.no_limits
        try:
            run = kt.simulate(model, q, v, passive=passive, limits=limits, **given)
        except ArgumentError as fault:  # such as a duration that is not a whole number of steps
            raise Misuse(str(fault)) from None
    return run, [str(warning.message) for warning in caught]


def draw(run: Trajectory, path: Path) -> Path:
    """Save the plot of a run; no window is opened."""
    from kinetree.extras import needed

    needed("matplotlib", "the plot").use("Agg")
    figure = run.plot()
    figure.savefig(path, dpi=110)
    needed("matplotlib.pyplot", "the plot").close(figure)
    return path


def audit(run: Trajectory) -> dict[str, Any]:
    """Where the energy went, as plain data in SI units."""
    energy, error = run.energy, run.energy_error
    return {
        "model": run.model.name,
        "integrator": run.settings["integrator"],
        "steps": len(run.t) - 1,
        "duration": float(run.t[-1] - run.t[0]),
        "energy_first": float(energy[0]),
        "energy_last": float(energy[-1]),
        "work": float(energy[-1] - energy[0] - error[-1]),
        "unexplained": float(error[-1]),
        "failed": [{"time": f.time, "joint": f.joint, "reason": f.reason} for f in run.failed],
    }


def write(style: Style, run: Trajectory, report: dict[str, Any]) -> None:
    """Print the report as text."""
    from kinetree.motion.files import coordinate_names

    print(style.bold(printable(run.model.name)) + f", {report['duration']:g} s in {report['steps']:,} steps,"
          f" {report['integrator']} integrator, computed in {duration(report['seconds'])}\n")  # fmt: skip
    rows = [
        [printable(label)[:32], *(f"{x:.3f}" for x in (v.min(), v.max(), v[-1]))]
        for label, v in zip(coordinate_names(run.model)["v"], run.v.T)
    ][:20]
    print(indent(table(rows, ["velocity of", "min", "max", "final"], "<>")))
    if run.model.nv > len(rows):
        print(f"  and {run.model.nv - len(rows)} more")
    print(f"\n{style.bold('Energy audit')}, J\n")
    touches = bool(run.ground)
    work, unexplained = number(report["work"], 6), f"{report['unexplained']:.2e}"
    rows = [
        ["at the start", number(report["energy_first"], 8)],
        ["at the end", number(report["energy_last"], 8)],
        [f"work of damping{', friction and contact' if touches else ' and friction'}", work],
        [f"unexplained: stops, {'impacts, ' if touches else ''}integration error", unexplained],
    ]
    print(indent(table(rows, align="<>")) + "\n")
    for failure in run.failed:
        print(style.bad(f"stopped at {failure.time:g} s: {printable(failure.reason)}"))
    for note in report["notes"]:
        print(style.doubtful(f"note: {printable(note)}"))
    for kind, path in report["saved"].items():
        print(f"{kind} saved to {printable(path)}")
