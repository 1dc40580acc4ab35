"""The limbs of a robot, for targets that compute them side by side.

The trunk joins the limbs: the path from the roots to where the tree last branches. It is limb 0, together
with limbs that are too small to count.
"""

from __future__ import annotations

from collections.abc import Callable

from kinetree.compiler.ir.graph import Array
from kinetree.compiler.ir.program import Program
from kinetree.model import Model
from kinetree.stages.job import Job

MOST = 5  # limbs, including the trunk
FOLLOWING = 2  # velocities that a limb has at least


def limbs(model: Model) -> tuple[list[int], list[float]]:
    """The limb of each node, and the number of velocities of each limb."""
    children: dict[int, list[int]] = {-1: []}
    for node in model.nodes:
        children[node.number] = []
    for node in model.nodes:
        children[node.predecessor[0]].append(node.number)
    weight = [len(node.v_index) for node in model.nodes]
    for node in reversed(model.nodes):
        if node.predecessor[0] >= 0:
            weight[node.predecessor[0]] += weight[node.number]
    tops = children[-1]
    while len(tops) < MOST - 1:
        branching = [k for k in tops if _fork(children, k)]
        if not branching:
            break
        heaviest = max(branching, key=lambda k: weight[k])
        tops = [k for k in tops if k != heaviest] + _fork(children, heaviest)
    tops = sorted((k for k in tops if weight[k] >= FOLLOWING), key=lambda k: -weight[k])[: MOST - 1]
    tops = tops if len(tops) > 1 else []
    limb = [0] * len(model.nodes)
    for number, top in enumerate(tops, 1):
        limb[top] = number
    for node in model.nodes:
        before = node.predecessor[0]
        if before >= 0 and limb[before]:
            limb[node.number] = limb[before]
    sizes = [0.0] * (len(tops) + 1)
    for node in model.nodes:
        sizes[limb[node.number]] += len(node.v_index)
    return limb, sizes


def _fork(children: dict[int, list[int]], top: int) -> list[int]:
    """The children where the path from a node first branches; empty if it does not."""
    while len(children[top]) == 1:
        top = children[top][0]
    return children[top]


def owners(job: Job, program: Program) -> tuple[Callable[[Array, int], int], list[float]]:
    """The limb of each input element, and the work of each limb."""
    model = job.model
    limb, sizes_of_limbs = limbs(model)
    places: dict[str, dict[int, int]] = {"nq": {}, "nv": {}, "nu": {}, "nb": {}}
    for node in model.nodes:
        mine = limb[node.number]
        places["nq"] |= dict.fromkeys(node.q_index, mine)
        places["nv"] |= dict.fromkeys(node.v_index, mine)
        places["nu"] |= dict.fromkeys(node.u_index, mine)
        places["nb"] |= {member.body - 1: mine for member in node.members if member.body}
    by_array: dict[Array, tuple[dict[int, int], int]] = {}
    arguments = {a.name: a for a in job.function.inputs}
    for array, name in zip(program.inputs, job.present, strict=True):
        shape = arguments[name].shape
        sizes = arguments[name].sizes(model, job.options)
        if shape and shape[0] in places and array.size:
            by_array[array] = places[shape[0]], array.size // sizes[0]

    def owner(array: Array, index: int) -> int:
        if array not in by_array:
            return 0
        mine, width = by_array[array]
        return mine.get(int(index) // width, 0)

    return owner, sizes_of_limbs


def pairs(job: Job, program: Program) -> list[tuple[Array, int, int]]:
    """Pairs of input elements that belong to two limbs with as many coordinates, in their order."""
    owner, sizes = owners(job, program)
    alike: dict[float, list[int]] = {}
    for limb, size in enumerate(sizes[1:], 1):
        alike.setdefault(size, []).append(limb)
    found = []
    for array in program.inputs:
        mine: dict[int, list[int]] = {}
        for k in range(array.size):
            mine.setdefault(owner(array, k), []).append(k)
        for limbs_ in alike.values():
            for one, other in zip(limbs_[::2], limbs_[1::2]):
                both = mine.get(one, []), mine.get(other, [])
                if len(both[0]) == len(both[1]):
                    found += [(array, a, b) for a, b in zip(*both)]
    return found
