"""The influence matrices of a tree of ten bodies: paths, branches and powers that vanish.

The tree of Concurrent Dynamics (2017), Figure 2: row i of Psi = (1 - Phi)^-1 shows the path to body i,
column j the branch of body j.

    python examples/tree_of_ten.py
"""

from __future__ import annotations

import numpy as np

from kinetree.soa import InfluenceMatrix

PARENTS = [0, 1, 1, 3, 3, 5, 4, 7, 1, 9]


def main() -> dict[str, float]:
    A = np.random.default_rng(0).normal(size=(10, 3, 3))
    influence = InfluenceMatrix(PARENTS, A)
    Psi = influence.Psi
    printed = A[7] @ A[6] @ A[3] @ A[2]  # Psi(8, 1) = A8 A7 A4 A3
    powers = [np.abs(np.linalg.matrix_power(influence.Phi.dense(), k)).max() for k in (4, 5)]
    pattern = np.array([[bool(np.any(Psi(i, j))) for j in range(1, 11)] for i in range(1, 11)])
    for row in pattern:
        print(" ".join("#" if x else "." for x in row))
    return {
        "nilpotency": influence.nilpotency,
        "largest entry of Phi^5 (of Phi^4: not zero)": float(powers[1]) if powers[0] > 0 else np.nan,
        "error of Psi(8, 1)": float(np.abs(Psi(8, 1) - printed).max()),
        "bodies on the path to body 6": int(pattern[5].sum()),
        "bodies of branch 3": int(pattern[:, 2].sum()),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value:.4g}")
