"""The spatial operator algebra: the dynamics of a whole tree as products of a few operators.

op = kt.operators(robot, q)
op.H @ op.phi @ op.M @ op.phi.T @ op.H.T          the mass matrix, applied in O(N), dense when asked for
"""

from kinetree.soa.influence import InfluenceMatrix
from kinetree.soa.letters import SpatialOperators, operators
from kinetree.soa.operator import Operator

__all__ = ["InfluenceMatrix", "Operator", "SpatialOperators", "operators"]
