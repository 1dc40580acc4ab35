"""States that are not ordinary on a GPU: large angles, NaN, huge and tiny numbers; the bits of the CPU."""
import numpy as np

import kinetree as kt
from kinetree.stages.targets.cuda_code import same_bits

for make in (kt.zoo.arm7, kt.zoo.quadruped, kt.zoo.humanoid):
    robot = make()
    for f in (kt.inverse_dynamics, kt.forward_dynamics):
        for dtype in ("float64", "float32"):
            gpu, cpu = (kt.compile(f, robot, target=t, dtype=dtype) for t in ("cuda", "cpu"))
            q, v = robot.random_state(0, 1037)
            a = np.random.default_rng(1).normal(size=v.shape)
            q, v, a = (np.asarray(x, dtype) for x in (q, v, a))
            found = []
            for case in range(6):
                x, y, z = q.copy(), v.copy(), a.copy()
                if case == 1:
                    x[::7, -1] = 1e9
                if case == 2:
                    y[5, 1] = np.nan
                    z[1036, 0] = np.inf
                    x[40, -2] = 3e7
                if case == 3:
                    y[3] *= 1e15 if dtype == "float32" else 1e120
                    z[1000] *= 1e-30 if dtype == "float32" else 1e-200
                if case == 4:
                    x, y, z = x[:1], y[:1], z[:1]
                if case == 5:
                    x, y, z = x[:33], y[:33], z[:33]
                found.append(same_bits(gpu(x, y, z), cpu(x, y, z)))
            print(robot.name, f.name, dtype, found, flush=True)
