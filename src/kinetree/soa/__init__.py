"""The spatial operator algebra: the dynamics of a whole tree as products of a few operators.

op = kt.operators(robot, q)
mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T      the mass matrix, applied in O(N), dense on request
mass.inverse                                         found by the rules of the algebra, applied in O(N)
kt.function_of(mass.inverse, "q, x -> a")            machine code for any model
"""

from kinetree.soa.compiled import function_of
from kinetree.soa.identities import identities
from kinetree.soa.influence import InfluenceMatrix
from kinetree.soa.letters import letters
from kinetree.soa.operator import Operator
from kinetree.soa.state import SpatialOperators, operators

__all__ = [
    "InfluenceMatrix", "Operator", "SpatialOperators", "function_of", "identities", "letters", "operators",
]  # fmt: skip
