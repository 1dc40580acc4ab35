"""Random programs, straight and looped, whose numbers stay of order one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Graph
from kinetree.compiler.ir.program import Program

UNARY = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "abs", "neg")
ARITHMETIC = ("add", "sub", "mul", "div")
OTHER = ("min", "max", "where", "atan2", "tanh", "sign", "floor", "lookup")
MATRIX = np.random.default_rng(5).normal(size=(4, 3))


def random_value(rng: np.random.Generator, pool: list, smooth: bool = False) -> Any:
    """A new number made of some of the pool; no branch is near its switching point if `smooth`."""
    a, b, c = (pool[k] for k in rng.integers(len(pool), size=3))
    kind = rng.choice(("arithmetic", "unary", "literal", "other"), p=(0.6, 0.2, 0.15, 0.05))
    if kind == "literal":
        constant = float(rng.choice((0.0, 1.0, -1.0, 2.0, *rng.normal(size=4))))
        return rng.choice((0, 1)) * a + constant * b if rng.random() < 0.5 else a * constant
    if kind == "arithmetic":
        op = rng.choice(ARITHMETIC)
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: tame(a) * tame(b),
                "div": lambda: a / (tame(b) * tame(b) + 0.5)}[op]()  # fmt: skip
    if kind == "unary":
        op = rng.choice([u for u in UNARY if not (smooth and u == "abs")])
        return {
            "sin": lambda: ops.sin(a), "cos": lambda: ops.cos(a), "tan": lambda: ops.tan(tame(a)),
            "asin": lambda: ops.asin(0.9 * tame(a)), "acos": lambda: ops.acos(0.9 * tame(a)),
            "atan": lambda: ops.atan(a), "exp": lambda: ops.exp(tame(a)),
            "log": lambda: ops.log(a * a + 0.5), "sqrt": lambda: ops.sqrt(a * a + 0.1),
            "abs": lambda: ops.abs(a), "neg": lambda: -a,
        }[op]()  # fmt: skip
    op = "atan2" if smooth else rng.choice(OTHER)
    return {
        "min": lambda: ops.min(a, b), "max": lambda: ops.max(a, b),
        "where": lambda: ops.where(ops.less(a, b), b, c),
        "atan2": lambda: ops.atan2(a, b * b + 0.5), "tanh": lambda: ops.tanh(a),
        "sign": lambda: ops.sign(a) * b, "floor": lambda: ops.floor(0.5 * tame(a)),
        "lookup": lambda: ops.lookup(MATRIX, ops.floor(4.0 * tame(a)), ops.floor(3.0 * tame(b) + 1.5)),
    }[op]()  # fmt: skip


def tame(a: Any) -> Any:
    """A number in [-1, 1]."""
    return ops.sin(a)


def random_straight(seed: int, length: int = 40, smooth: bool = False) -> Program:
    """A straight program with two inputs and two outputs (and, for odd seeds, a guard)."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    q, v = graph.array("q", "input", 3), graph.array("v", "input", 2)
    outputs = (graph.array("y", "output", 4), graph.array("z", "output", 1))
    pool = [graph.load(q, k) for k in range(3)] + [graph.load(v, k) for k in range(2)]
    while len(pool) < length:
        value = random_value(rng, pool[-12:] if rng.random() < 0.8 else pool, smooth)
        if isinstance(value, ops.Expr):
            pool.append(value)
    for k in range(4):
        graph.store(outputs[0], k, pool[-1 - k] if rng.random() < 0.9 else float(rng.normal()))
    graph.store(outputs[1], 0, pool[rng.integers(len(pool))])
    guard = None
    if seed % 2:
        guard = graph.array("guard", "output", 1)
        graph.store(guard, 0, ops.where(ops.less(pool[-1], 0.3), 0.5, 2.0))
    tables = tuple(a for a in graph.arrays if a.kind == "table")
    return Program("random", (q, v), outputs, (), tables, graph.root, graph, guard=guard)


def random_looped(seed: int, nodes: int = 5) -> Program:
    """A program with an outward loop, an inward loop and a loop with a while along the path to the root."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    q = graph.array("q", "input", nodes)
    y = graph.array("y", "output", nodes)
    m = graph.array("m", "output", nodes * (nodes + 1))
    width, sums = 3, 2
    parents = np.array([0] + [int(rng.integers(k)) for k in range(1, nodes + 1)], np.int32)
    parent = graph.array("parent", "itable", nodes + 1, parents)
    kind = graph.array("kind", "itable", nodes + 1, rng.integers(0, 2, nodes + 1).astype(np.int32))
    numbers = graph.array("numbers", "table", nodes + 1, rng.normal(size=nodes + 1))
    field = graph.array("field", "work", width * (nodes + 1))
    total = graph.array("total", "work", sums * (nodes + 1))
    invariant = ops.sin(graph.load(q, 0)) + 0.25
    for c in range(width):
        graph.store(field, c, float(rng.normal()))

    def at(node: Any, stride: int, component: int) -> Any:
        return graph.iadd(graph.imul(node, stride), component)

    with graph.loop(nodes, 1) as i:  # outward
        p = graph.load(parent, i)
        switch = graph.switch(graph.load(kind, i))
        for _ in range(2):
            with graph.case(switch):
                pool = [graph.load(field, at(p, width, c)) for c in range(width)]
                pool += [graph.load(q, graph.iadd(i, -1)), graph.load(numbers, i), invariant]
                for _ in range(rng.integers(3, 8)):
                    value = random_value(rng, pool)
                    pool += [value] if isinstance(value, ops.Expr) else []
                for c in range(width):
                    graph.store(field, at(i, width, c), tame(pool[-1 - c]))
                for c in range(sums):
                    graph.store(total, at(i, sums, c), pool[-1 - c])
    with graph.loop(nodes, nodes, -1) as i:  # inward; element 1 of the sums is never read
        node_sum = graph.load(total, at(i, sums, 0))
        graph.store(y, graph.iadd(i, -1), node_sum * invariant)
        graph.store(total, at(graph.load(parent, i), sums, 0), tame(node_sum), accumulate=True)
        graph.store(total, at(graph.load(parent, i), sums, 1), 1.0, accumulate=True)
    with graph.loop(nodes, 1) as j:
        with graph.repeat(j) as path:
            i = path.variable
            value = graph.load(field, at(i, width, 0)) * graph.load(field, at(j, width, 1))
            graph.store(m, graph.iadd(graph.imul(graph.iadd(j, -1), nodes + 1), i), value + invariant)
            path.successor = graph.load(parent, i)
        graph.store(m, graph.imul(graph.iadd(j, -1), nodes + 1), graph.load(numbers, j), accumulate=True)
    graph.clear(m)
    graph.clear(total)
    tables = tuple(a for a in graph.arrays if a.kind in ("table", "itable"))
    return Program("looped", (q,), (y, m), (field, total), tables, graph.root, graph)


def random_inputs(program: Program, seed: int, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Inputs of order one."""
    rng = np.random.default_rng([seed, 1])
    return [rng.normal(size=(*batch, a.size)) for a in program.inputs]
