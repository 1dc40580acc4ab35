"""`kinetree demo`: the whole library on one robot file, from the file to a controlled motion."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli import info, source
from kinetree.cli.simulate import draw
from kinetree.cli.status import FINDINGS, OK, Misuse
from kinetree.cli.text import Style, duration, indent, plural, printable, progress, table
from kinetree.errors import KinetreeError, MissingPackageError

if TYPE_CHECKING:
    import numpy as np

    from kinetree.model import Model
    from kinetree.motion import Trajectory

SUMMARY = "run the whole library on one robot, from dynamics to control"
DESCRIPTION = """Run the whole library on one robot (yours, or the 7-axis arm that comes with the library):
load and report it, compute every quantity once, check the laws of mechanics on the numbers, time 100,000
states, simulate 10 s with an energy audit, close a control loop, and save data and plots."""
EXAMPLES = """  kinetree demo
  kinetree demo panda.urdf --output panda-demo
  kinetree demo zoo:puma560 --seed 7"""

STATES = 100_000
RACED = {"inverse_dynamics": "qva", "forward_dynamics": "qva", "mass_matrix": "q", "coriolis_matrix": "qv"}
SECONDS, STEP = 10.0, 1e-3
SMALL = 8  # matrices up to this size are printed as numbers


def configure(parser: argparse.ArgumentParser) -> None:
    source.configure(parser, optional=True)
    parser.add_argument("--seed", type=int, default=1, help="seed of the random states (default 1)")
    parser.add_argument(
        "--output", type=Path, default=Path("kinetree-demo"), metavar="DIR",
        help="folder for data and plots (default: kinetree-demo)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from kinetree import robots

    begin = time.perf_counter()
    if options.seed < 0:
        raise Misuse(f"--seed is {options.seed}; give a number from 0 up")
    file = options.file or str(robots.path("arm7.urdf"))
    model = source.read(argparse.Namespace(**{**vars(options), "file": file}))
    if model.nv == 0:
        raise KinetreeError(f"'{model.name}' has no degrees of freedom: nothing in it can move")
    folder = made(options.output)
    style, rng = Style(sys.stdout), np.random.default_rng(options.seed)
    heading(style, 1, "The robot")
    info.write(style, model)
    is_file = not file.startswith(source.ZOO) and file != source.STANDARD_INPUT
    saved = [copied(file, folder)] if is_file else []
    heading(style, 2, "Every quantity once, in a random state")
    broken = quantities(style, model, rng)
    heading(style, 3, f"A race over {STATES:,} states")
    race(style, model, rng)
    heading(style, 4, f"{SECONDS:g} s of free motion, and where the energy goes")
    motion, good = free_motion(style, model)
    heading(style, 5, "A control loop")
    tracked = control(style, model)
    heading(style, 6, "Saved files")
    saved += [motion.save(folder / "motion.npz"), motion[::10].save(folder / "motion.csv")]
    saved += [tracked.save(folder / "tracking.npz"), *drawings(style, model, motion, tracked, folder)]
    print(indent("\n".join(printable(path) for path in saved if path)))
    shapes = f" --shapes {printable(saved[0])}" if saved[0].suffix != ".npz" else ""
    print(f"\n  To see it move:\n    kinetree view {printable(folder / 'motion.npz')}{shapes}")
    print(f"\n{duration(time.perf_counter() - begin)} in total; compiled code is cached for the next run")
    if broken or not good:
        print(style.bad(f"{plural(broken, 'law')} broken" if broken else "the energy audit does not add up"))
        return FINDINGS
    print(style.good("every law holds"))
    return OK


def made(folder: Path) -> Path:
    """The folder, created if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise Misuse(f"--output '{folder}' cannot be created: {fault.strerror}") from None
    return folder


def copied(file: str, folder: Path) -> Path:
    """A copy of the robot file next to the results."""
    target = folder / Path(file).name
    return target if target.exists() and target.samefile(file) else Path(shutil.copyfile(file, target))


def heading(style: Style, number: int, title: str) -> None:
    line = style.glyph("─", "-")
    print(("" if number == 1 else "\n") + style.bold(f"{line * 2} {number}. {title} ".ljust(78, line)) + "\n")


def quantities(style: Style, model: Model, rng: np.random.Generator) -> int:
    """Compute every function of a model in one state; return how many laws are broken."""
    import numpy as np

    import kinetree as kt
    from kinetree.cli.laws import laws
    from kinetree.names import FUNCTIONS
    from kinetree.sweep import REQUIRED

    q, v = model.random_state(rng)
    a = rng.standard_normal(model.nv)
    known = {"q": q, "v": v, "added": np.abs(a)}
    tip = model.frame_names[-1] if model.frames else model.body_names[-1]
    moving = next(n for n in model.joint_names if model.coordinate_index(n) != slice(0, 0))
    chosen = {"frame": tip, "accelerate": [moving]}
    begin, count = time.perf_counter(), 0
    for group, names in FUNCTIONS.items():
        rows = []
        for name in progress(names.split(), len(names.split()), group):
            function = getattr(kt, name)
            given = [known.get(argument.name, a) for argument in function.inputs if not argument.optional]
            wanted = [word for word, value in function.options.items() if value is REQUIRED or value == ()]
            found = function(model, *given, **{word: chosen[word] for word in wanted})
            parts = found if isinstance(found, tuple) else (found,)
            shapes = ", ".join(" x ".join(map(str, np.shape(part))) or "1" for part in parts)
            largest = max(float(np.abs(part).max(initial=0.0)) for part in parts)
            rows.append([name, shapes, f"{largest:.4g}"])
            count += 1
        print(style.bold(group) + style.dim("  (shape, largest entry)"))
        print(indent(table(rows, align="<<>")) + "\n")
    print(f"{count} quantities, compiled for this robot and computed in"
          f" {duration(time.perf_counter() - begin)}\n")  # fmt: skip
    if model.nv <= SMALL:
        print(style.bold("Mass matrix") + " M(q), kg m^2\n")
        rows = [[f"{x:.4f}" for x in row] for row in kt.mass_matrix(model, q)]
        print(indent(table(rows, align=">")) + "\n")
    print(style.bold("Laws") + " that these numbers obey, with relative errors\n")
    found = laws(model, q, v, a)
    rows = []
    for law in found:
        mark = style.good(style.glyph("✓", "ok")) if law.holds else style.bad(style.glyph("✗", "BROKEN"))
        rows.append([mark, law.name, law.remark or f"{law.residual:.1e}"])
    print(indent(table(rows, align="<")))
    return sum(not law.holds for law in found)


def race(style: Style, model: Model, rng: np.random.Generator) -> None:
    """Time compiled code over many states, next to the same algorithm in plain Python and other libraries."""
    import numpy as np

    import kinetree as kt
    from kinetree.cli.peers import peers
    from kinetree.cli.timing import best
    from kinetree.compiler.runtime.threads import thread_limit

    low, high = np.maximum(model.limits.lower, -np.pi), np.minimum(model.limits.upper, np.pi)
    q = model.integrate(model.neutral(), low + (high - low) * rng.random((STATES, model.nv)))
    v, a = rng.standard_normal((2, STATES, model.nv))
    arrays = {"q": q, "v": v, "a": a}
    others, _ = peers(model)
    rows, apart = [], 0.0
    for name, letters in progress(RACED.items(), len(RACED), "racing"):
        given = [arrays[letter] for letter in letters]
        kernel = kt.compile(getattr(kt, name), model)
        out = kernel(*given)
        seconds = best(partial(kernel, *given, out=out), 0.3)
        one = [array[0] for array in given]
        slow = best(partial(getattr(kt, name), model, *one, target="eager"), 0.1)
        row = [name, f"{kernel.ops['flops']:,}", duration(seconds), f"{STATES / seconds / 1e6:.2f}"]
        row.append(f"{duration(slow * STATES)}")
        for peer in others:
            figures = peer.figures(name, given, out[0], 0.1)
            row.append("-" if figures is None else duration(figures["call"] * STATES))
            apart = max(apart, figures["apart"] if figures else 0.0)
        rows.append(row)
    header = ["", "flops", "time", "Mio/s", "Python*", *(f"{peer.name}*" for peer in others)]
    print(indent(table(rows, header, "<>")))
    print(f"\n  {plural(thread_limit(), 'thread')}, float64. * extrapolated from single calls;"
          f" Python is the\n  same algorithm, interpreted.")  # fmt: skip
    if others:
        print(f"  Largest difference from {' and '.join(p.name for p in others)}: {apart:.0e} of the result.")


def free_motion(style: Style, model: Model) -> tuple[Trajectory, bool]:
    """Release the robot and audit its energy; False if the audit does not add up."""
    import numpy as np

    import kinetree as kt

    q, v = model.integrate(model.neutral(), bend(model)), np.zeros(model.nv)
    begin = time.perf_counter()
    run = kt.simulate(model, q, v, duration=SECONDS, dt=STEP, integrator="rk4", limits=False)
    seconds = time.perf_counter() - begin
    lossless = kt.simulate(
        model, q, v, duration=SECONDS, dt=STEP, integrator="variational", passive=False, limits=False
    )
    energy, error = run.energy, run.energy_error
    rows = []
    for k in np.linspace(0, len(run.t) - 1, 6).astype(int):
        row = [run.t[k], run.kinetic_energy[k], run.potential_energy[k], energy[k]]
        work = energy[k] - energy[0] - error[k]
        rows.append([*(f"{x:.3f}" for x in row), f"{work:.3f}", f"{error[k]:.1e}"])
    header = ["time s", "kinetic J", "potential J", "total J", "work J", "residual J"]
    print(indent(table(rows, header, ">")))
    scale = float(np.ptp(run.kinetic_energy)) or 1.0
    drift = float(np.ptp(lossless.energy)) / scale
    left = float(np.abs(error).max()) / scale
    print(f"\n  {len(run.t) - 1:,} steps in {duration(seconds)} including compilation (rk4)."
          f" Work is that of joint\n  damping and friction. The residual is at most {left:.0e} of the range"
          f" of the kinetic\n  energy. Without losses, the variational integrator keeps the energy\n"
          f"  within {drift:.0e} of that range.")  # fmt: skip
    allowed = 0.1 if np.any(model.friction) else 1e-3  # dry friction jumps between records
    return run, left < allowed and not run.failed


def bend(model: Model) -> np.ndarray:
    """A posture away from equilibrium, as a step from neutral: every joint slightly bent, within limits."""
    import numpy as np

    return np.clip(0.3 + 0.4 * np.cos(np.arange(model.nv)), model.limits.lower, model.limits.upper)


def control(style: Style, model: Model) -> Trajectory:
    """Computed-torque control along a wave in every joint, starting off the path."""
    import numpy as np

    import kinetree as kt

    home = model.integrate(model.neutral(), bend(model))
    side = -0.3 * np.where(bend(model) < 0, -1.0, 1.0)  # back towards neutral

    @kt.function("t, q, v -> tau, error(nv)")
    def track(model: Model, t: Any, q: Any, v: Any) -> Any:
        """tau = M (a_d + 20 (v_d - v) + 100 e) + C v + g, less the passive joint forces."""
        e = model.difference(q, model.integrate(home, side * (1 - kt.ops.cos(t))))
        a = side * kt.ops.cos(t) + 20.0 * (side * kt.ops.sin(t) - v) + 100.0 * e
        return kt.inverse_dynamics(model, q, v, a) - kt.passive_force(model, q, v), e

    begin = time.perf_counter()
    run = kt.simulate(
        model, model.neutral(), np.zeros(model.nv), duration=SECONDS, dt=STEP, control=track, limits=False
    )
    seconds = time.perf_counter() - begin
    error = np.linalg.norm(run.extra["error"], axis=-1)
    print("  Computed torque, written as a function of the model in three lines and compiled\n"
          "  into the time loop: every joint follows a wave, starting off the path.\n")  # fmt: skip
    rows = [[f"{run.t[k]:.1f}", f"{error[k]:.2e}"] for k in np.linspace(0, len(run.t) - 1, 6).astype(int)]
    print(indent(table(rows, ["time s", "tracking error, rad or m"], ">")))
    print(f"\n  {len(run.t) - 1:,} steps with control in {duration(seconds)} including compilation")
    return run


def drawings(
    style: Style, model: Model, motion: Trajectory, tracked: Trajectory, folder: Path
) -> list[Path]:
    """Save plots and drawings; without matplotlib, say how to get it."""
    from kinetree.extras import needed
    from kinetree.pictures import posture, tree

    try:
        saved = [draw(motion, folder / "motion.png"), draw(tracked, folder / "tracking.png")]
        figures = {"tree.png": tree(model), "posture.png": posture(model, motion.q[:1500:150])}
    except MissingPackageError as missing:
        print(style.doubtful(f"  {missing}\n"))
        return []
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=110)
        needed("matplotlib.pyplot", "the drawing").close(figure)
    return [*saved, *(folder / name for name in figures)]
