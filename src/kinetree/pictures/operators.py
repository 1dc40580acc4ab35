"""Pictures of the operator algebra: sparsity patterns, and operators at work on the tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.pictures.layout import layout
from kinetree.pictures.plots import plain
from kinetree.soa.operator import Identity, Letter, Operator, Product, letters_of
from kinetree.soa.structure import Structure, is_local, structure_of
from kinetree.sweep import choice

LABELLED = 12  # most nodes with labelled blocks
LARGEST = 3000  # most nodes in one picture
STEPS = 12  # most factors in one figure
_INK, _PALE, _DONE = "C0", "0.82", "C1"


def sparsity(A: Operator, *, order: str = "base", title: str | None = None) -> Any:
    """The sparsity pattern of an operator: a square, with its symbols, for each block that can be non-zero.

        kt.pictures.sparsity(op.phi)
        kt.pictures.sparsity(InfluenceMatrix(parents, blocks).Psi)

    Args:
        A: an operator at a state, or Phi and Psi of an influence matrix.
        order: "base" goes from the base to the tips, so that phi is upper triangular; "tips" goes the other
            way, as in the lectures, so that phi is lower triangular.
        title: replaces the formula of the operator.

    Returns:
        The matplotlib figure.
    """
    plt = needed("matplotlib.pyplot", "sparsity")
    _operator("sparsity", A)
    reverse = choice("order", order, "base", "tips") == "tips"
    found: Structure = structure_of(A)
    pattern = found.pattern[::-1, ::-1] if reverse else found.pattern
    rows, columns = pattern.shape
    if max(rows, columns) > LARGEST:
        raise ArgumentError(f"sparsity: {rows} x {columns} blocks are more than a picture can show")
    labelled = max(rows, columns) <= LABELLED
    side = float(np.clip((0.62 if labelled else 0.3) * max(rows, columns, 1), 2.6, 8.0))
    figure, axis = plt.subplots(figsize=(side * max(columns, 1) / max(rows, columns, 1) + 1.2, side + 0.9))
    shades = pattern.astype(float)
    if rows == columns:
        shades[np.diag_indices(rows)] *= 0.55
    axis.imshow(np.ma.masked_equal(shades, 0), cmap="Blues", vmin=0, vmax=2.4, interpolation="nearest",
                extent=(0.5, columns + 0.5, rows + 0.5, 0.5))  # fmt: skip
    if labelled:
        _label(axis, A, pattern, reverse)
        axis.set_xticks(range(1, columns + 1), _numbers(columns, reverse))
        axis.set_yticks(range(1, rows + 1), _numbers(rows, reverse))
        axis.set_xticks(np.arange(0.5, columns + 1), minor=True)
        axis.set_yticks(np.arange(0.5, rows + 1), minor=True)
        axis.grid(which="minor", color="0.9", linewidth=0.6)
    axis.tick_params(which="both", length=0, labelsize=8)
    axis.xaxis.tick_top()
    axis.set_title(title if title is not None else f"${A._latex()}$", fontsize=12)
    axis.set_xlabel(f"{Structure(pattern).kind}, {found.filled:.0%} filled", fontsize=8.5)
    figure.tight_layout()
    return figure


def _numbers(count: int, reverse: bool) -> list[int]:
    return list(range(count, 0, -1)) if reverse else list(range(1, count + 1))


def _label(axis: Any, A: Operator, pattern: np.ndarray, reverse: bool) -> None:
    """Label each block with its symbols, if it has any."""
    rows, columns = pattern.shape
    for r, c in zip(*np.nonzero(pattern), strict=True):
        i, j = (rows - r, columns - c) if reverse else (r + 1, c + 1)
        parts = _block(A, int(i), int(j))
        row = 3 if r"\cdots " in parts else 2
        lines = [f"${''.join(parts[k : k + row])}$" for k in range(0, len(parts), row)]
        axis.text(c + 1, r + 1, "\n".join(lines), ha="center", va="center", linespacing=1.1,
                  fontsize=8.5 if len(parts) > 2 else 10)  # fmt: skip


def _block(A: Operator, i: int, j: int) -> list[str]:
    """The block (i, j) in symbols: one step of a shift operator, the steps along the path of a resolvent."""
    if isinstance(A, Identity):
        return ["1"]
    if not isinstance(A, Letter) or A.spec.kind in ("defined", "boundary") or A.inverted:
        return []
    if A.spec.kind == "local":
        return [f"{A._latex()}_{{{i}}}"]
    if i == j or A.spec.family == "N":
        return ["1"]
    outer, inner = (i, j) if A.transposed else (j, i)
    path = [k for k in A.home.topology.path(outer) if k not in A.home.topology.path(inner)]
    letter = "A" if A.spec.outward else r"\psi" if A.name == "psi" else "X"
    order = path if A.transposed else path[::-1]
    steps = [f"{letter}_{{{k}}}{'' if A.transposed else '^T'}" for k in order]
    return steps if len(steps) <= 4 else [steps[0], r"\cdots ", steps[-1]]


def flow(A: Operator, start: int | str | None = None, *, title: str | None = None) -> Any:
    """The action of an operator on the tree, factor by factor from the right: scattering, gathering or local.

        kt.pictures.flow(op.H @ op.phi @ op.M @ op.phi.T @ op.H.T, start="link 3")

    Arrows point outward where motions are scattered and inward where forces are gathered; filled dots mark
    non-zero entries.

    Args:
        A: an operator at a state, or one of an influence matrix; sums are drawn as one step.
        start: the body (or node, numbered from 1) with the only non-zero entry of the vector; None for all.
        title: replaces the formula of the operator.

    Returns:
        The matplotlib figure.
    """
    plt = needed("matplotlib.pyplot", "flow")
    _operator("flow", A)
    factors = [*reversed(A.factors)] if isinstance(A, Product) else [A]
    parents = A.home.topology.parents
    if len(factors) > STEPS or len(parents) > LARGEST:
        raise ArgumentError(
            f"flow: {len(factors)} factors on {len(parents)} nodes are more than a picture can show"
        )
    place = layout(parents)
    deep, wide = place.max(axis=0) + 1
    across = min(5, len(factors))
    down = -(-len(factors) // across)
    width, height = float(np.clip(0.5 * deep + 0.6, 1.8, 4.0)), float(np.clip(0.42 * wide + 0.8, 1.6, 4.5))
    figure, axes = plt.subplots(down, across, figsize=(across * width, down * height + 0.4), squeeze=False)
    reached = _started(A, start)
    for axis, factor in zip(axes.flat, factors):
        arrived = _arrived(factor, reached)
        _step(axis, factor, place, parents, reached, arrived)
        reached = arrived
    for axis in axes.flat[len(factors) :]:
        axis.set_visible(False)
    figure.suptitle(title if title is not None else f"${A._latex()}$", fontsize=12)
    figure.tight_layout()
    return figure


def _started(A: Operator, start: Any) -> np.ndarray:
    """Which entries of the vector that A acts on are non-zero."""
    count = len(A.home.places(A.columns))
    if start is None:
        return np.ones(count, bool)
    node = A.home.node(start) if isinstance(start, str) else int(start)
    if not 1 <= node <= count:
        raise ArgumentError(f"flow: start is {start}, but {A.columns} are numbered 1 ... {count}")
    return np.arange(1, count + 1) == node


def _arrived(factor: Operator, reached: np.ndarray) -> np.ndarray:
    return np.asarray(structure_of(factor).pattern[:, reached].any(axis=1))


def _step(axis: Any, factor: Operator, place: Any, parents: Any, before: Any, after: Any) -> None:
    """Draw one factor: arrows along the edges it uses, filled dots where its result is non-zero."""
    sweeps = {letter.transposed for letter in letters_of(factor) if not is_local(letter)}
    outward, inward = True in sweeps, False in sweeps
    stacked, topology = len(after) == len(parents), factor.home.topology
    sent = {k + 1 for k in np.flatnonzero(before)}
    for i, p in enumerate(parents, 1):
        (x0, y0), (x1, y1) = place[p], place[i]
        from_below = inward and any(topology.is_ancestor(i, k) for k in sent)
        from_above = outward and any(topology.is_ancestor(k, p) for k in sent)
        used = bool(p) and stacked and (from_below or from_above)
        axis.plot([x0, x1], [y0, y1], color=_PALE, linewidth=1.0, zorder=1, linestyle=":" if p == 0 else "-")
        if used:
            tail, head = ((x0, y0), (x1, y1)) if outward and not inward else ((x1, y1), (x0, y0))
            style = "<|-|>" if outward and inward else "-|>"
            drawn = {"arrowstyle": style, "color": _INK, "shrinkA": 5, "shrinkB": 5, "linewidth": 1.3}
            axis.annotate("", head, tail, zorder=2, arrowprops=drawn)
    axis.scatter(*place[0], s=28, marker="s", color="0.35", zorder=3)
    for i in range(1, len(parents) + 1):
        full = stacked and bool(after[i - 1])
        axis.scatter(*place[i], s=70, color=_DONE if full else "white", edgecolors=_DONE if full else "0.6",
                     linewidths=1.0, zorder=3)  # fmt: skip
        if len(parents) <= 40:
            axis.annotate(str(i), place[i], ha="center", va="center", fontsize=6, zorder=4,
                          color="white" if full else "0.4")  # fmt: skip
    what = "scatter" if outward and not inward else "gather" if inward and not outward else ""
    axis.set_title(f"${factor._latex()}$  {what}".strip(), fontsize=9.5)
    axis.set_axis_off()
    axis.margins(0.14)
    axis.invert_yaxis()


def skeleton(parents: Any, *, title: str | None = None) -> Any:
    """The drawing of a tree that is not a robot, with numbered bodies."""
    plt = needed("matplotlib.pyplot", "tree")
    place = layout(parents)
    deep, wide = place.max(axis=0) + 1
    figure, axis = plt.subplots(figsize=(min(1.0 + 0.9 * deep, 40), min(0.8 + 0.55 * wide, 40)))
    for i, p in enumerate(parents, 1):
        (x0, y0), (x1, y1) = place[p], place[i]
        axis.plot([x0, x1], [y0, y1], color="0.6", zorder=1, linestyle=":" if p == 0 else "-")
        axis.scatter(x1, y1, s=230, color="C0", zorder=2)
        axis.annotate(str(i), (x1, y1), ha="center", va="center", fontsize=8.5, color="white", zorder=3)
    axis.scatter(*place[0], s=60, marker="s", color="0.25", zorder=2)
    axis.set_title(plain(title or ""), fontsize=11)
    axis.set_axis_off()
    axis.margins(0.1)
    axis.invert_yaxis()
    figure.tight_layout()
    return figure


def _operator(caller: str, A: Any) -> None:
    if not isinstance(A, Operator):
        raise ArgumentError(f"{caller}: an operator is needed, such as kt.operators(model, q).phi, not {A!r}")
