"""The accuracy of each function: machine code against 50 digits, in units in the last place.

    python -m tests.soak.accuracy                  # the table of docs/reliability.md

The unit is that of the largest number in a result. Errors of functions that solve with the mass matrix grow
with its condition number, and are divided by it.
"""

from __future__ import annotations

import argparse

import mpmath
import numpy as np
from tests.reference.measure import condition
from tests.soak.fuzzer import DIGITS, SKIPPED
from tests.targets.cases import Setting, tree

import kinetree as kt
from kinetree import functions
from kinetree.sweep import REGISTRY

SEEDS = (3, 12, 25, 34, 46, 58, 71, 86)
STATES = 2
SOLVES = (
    "forward_dynamics", "forward_dynamics_concurrent", "forward_dynamics_derivatives", "augmented_dynamics",
    "mass_matrix_solve", "inverse_mass_matrix", "articulated_inertias", "mass_matrix_logdet",
)  # fmt: skip


def errors(name: str, seed: int) -> list[float]:
    """The errors of one function on one tree, for each state and result."""
    setting = Setting(tree(seed, 4), REGISTRY[name])
    model, inputs = setting.model, list(setting.inputs.values())
    if not model.nv:
        return []
    kernel = kt.compile(getattr(kt, name), model, inputs=setting.present, mode="unrolled", **setting.options)
    found = []
    for s in range(STATES):
        with mpmath.workdps(DIGITS):
            exact = np.frompyfunc(mpmath.mpf, 1, 1)
            given = {k: exact(x[s]) for k, x in setting.inputs.items()}
            truth = getattr(kt, name)(model, **given, **setting.options)
            ours = kernel(*(x[s] for x in inputs))
            scale = condition(kt.mass_matrix(model, setting.inputs["q"][s])) if name in SOLVES else 1.0
            for part, right in zip(_parts(ours), _parts(truth), strict=True):
                right = np.asarray(right, object)
                size = float(max((abs(x) for x in right.flat), default=0))
                if size > 1e-12:  # a result that is zero up to the rounding of the model has no digits
                    away = float(max(abs(x) for x in np.ravel(exact(np.asarray(part)) - right)))
                    found.append(away / float(np.spacing(size)) / scale)
    return found


def _parts(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all that take less than minutes by default")
    names = parser.parse_args().names or sorted(functions.SWEEPS.keys() - SKIPPED)
    print("| function | median | 95 % | largest |\n|---|---|---|---|")
    for name in names:
        found = np.array([e for seed in SEEDS for e in errors(name, seed)])
        mark = " / cond M" if name in SOLVES else ""
        figures = (np.median(found), np.quantile(found, 0.95), found.max())
        print(f"| `{name}`{mark} | " + " | ".join(f"{x:.2g}" for x in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
