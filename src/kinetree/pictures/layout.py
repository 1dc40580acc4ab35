"""The layout of a tree in a drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetree.model.topology import Topology


def layout(parents: Sequence[int]) -> np.ndarray:
    """(n + 1, 2): depth and row of each body, the ground first; each body is centred on its subtree."""
    topology = Topology(parents)
    place = np.zeros((len(parents) + 1, 2))
    place[:, 0] = topology.depths
    row, stack, order = 0, [0], []
    while stack:
        i = stack.pop()
        order.append(i)
        children = topology.children[i]
        if not children:
            place[i, 1] = row
            row += 1
        stack.extend(reversed(children))
    for i in reversed(order):
        if topology.children[i]:
            place[i, 1] = np.mean([place[k, 1] for k in topology.children[i]])
    return place
