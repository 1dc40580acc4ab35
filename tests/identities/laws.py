"""The laws that tie the algorithms together."""

from collections.abc import Collection

from tests.identities import (
    laws_of_derivatives,
    laws_of_inertia,
    laws_of_kinematics,
    laws_of_motion,
    laws_of_routes,
)
from tests.identities.case import Case
from tests.identities.declare import COSTLY, COVERED, LAWS

__all__ = ["COSTLY", "COVERED", "LAWS"]
assert LAWS and all(
    (laws_of_derivatives, laws_of_inertia, laws_of_kinematics, laws_of_motion, laws_of_routes)
)


def broken_laws(case: Case, costly: bool, without: Collection[str] = ()) -> list[str]:
    """Messages of the laws that this case breaks."""
    broken = []
    for name in LAWS:
        if name in without or (name in COSTLY and not costly):
            continue
        try:
            LAWS[name](case)
        except AssertionError as failure:
            broken.append(f"{name}: {failure}")
    return broken
