"""The identities of the algebra, one line each: their source, their name, and both sides.

`->` is a rule that `simplify` applies from left to right, plain and transposed; `=` is an identity that is
not applied; `=>` is used to find inverses. Letters are those of the alphabet; `1` is the identity. Every line
holds on every tree, for joints of any kind, with rotors and mimic groups; `kt.identities` checks them.

References: the lectures on the spatial operator algebra; Jain (2011); Jain (2024) part 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kinetree.soa.letters import letters
from kinetree.soa.operator import Operator, Sum, letters_of, terms_of

TABLE = """
OPR-2  | phi is a resolvent              | 1 - E_phi -> phi.inverse
OPR-2  | powers of the shift             | phi = 1 + E_phi @ phi
OPR-3  | the strict part of phi          | phi @ E_phi -> phi_tilde
OPR-3  | the strict part of phi          | E_phi @ phi -> phi_tilde
OPR-3  | the strict part of phi          | phi - 1 -> phi_tilde
OPR-3  | the strict part of phi          | 1 + phi_tilde -> phi
OPR-3  | the strict part of phi          | phi.inverse @ phi_tilde -> E_phi
OPR-3  | the strict part of phi          | phi_tilde @ phi.inverse -> E_phi
OPR-8  | velocities, implicit            | phi.T @ H.T = E_phi.T @ phi.T @ H.T + H.T
OPR-8  | forces, implicit                | phi @ M @ phi.T @ H.T =
    E_phi @ phi @ M @ phi.T @ H.T + M @ phi.T @ H.T
OPR-9  | Lyapunov                        | R - E_phi @ R @ E_phi.T -> M
OPR-10 | composite decomposition         | R + phi_tilde @ R + R @ phi_tilde.T -> phi @ M @ phi.T
OPR-10 | composite decomposition         | phi @ R + R @ phi_tilde.T -> phi @ M @ phi.T
OPR-10 | composite decomposition         | phi @ R + R @ phi.T - R -> phi @ M @ phi.T
OPR-11 | gain                            | U @ D.inverse -> G
OPR-11 | gain                            | G @ D -> U
OPR-11 | articulated inertia at a joint  | P @ H.T -> U
OPR-11 | inertia along the joints        | H @ U -> D
OPR-11 | gain inboard                    | E_phi @ U -> K @ D
OPR-11 | gain inboard                    | E_phi @ G -> K
OPR-11 | gain inboard                    | phi_tilde @ G -> phi @ K
OPR-11 | projection                      | G @ H -> tau
OPR-11 | projection                      | E_phi @ tau -> K @ H
OPR-11 | projection                      | 1 - tau -> taubar
OPR-11 | projection                      | 1 - taubar -> tau
OPR-11 | projection                      | tau + taubar -> 1
OPR-11 | articulated shift               | E_phi @ taubar -> E_psi
OPR-11 | articulated shift               | E_phi - K @ H -> E_psi
OPR-11 | articulated shift               | E_psi + K @ H -> E_phi
OPR-11 | articulated shift               | phi_tilde @ taubar -> phi @ E_psi
OPR-11 | psi is a resolvent              | 1 - E_psi -> psi.inverse
OPR-11 | psi is a resolvent              | psi = 1 + E_psi @ psi
OPR-11 | the strict part of psi          | psi @ E_psi -> psi_tilde
OPR-11 | the strict part of psi          | E_psi @ psi -> psi_tilde
OPR-11 | the strict part of psi          | psi - 1 -> psi_tilde
OPR-11 | the strict part of psi          | 1 + psi_tilde -> psi
OPR-11 | the strict part of psi          | psi.inverse @ psi_tilde -> E_psi
OPR-11 | the strict part of psi          | psi_tilde @ psi.inverse -> E_psi
OPR-12 | a gain is seen by its joint     | H @ G -> 1
OPR-12 | projections                     | H @ taubar -> 0 * H
OPR-12 | projections                     | taubar @ G -> 0 * G
OPR-12 | projections                     | H @ tau -> H
OPR-12 | projections                     | tau @ G -> G
OPR-12 | projections                     | tau @ tau -> tau
OPR-12 | projections                     | taubar @ taubar -> taubar
OPR-12 | projections                     | tau @ taubar -> 0 * tau
OPR-12 | projections                     | taubar @ tau -> 0 * tau
OPR-12 | projections                     | P @ taubar.T -> taubar @ P
OPR-12 | projections                     | taubar @ P @ taubar.T -> taubar @ P
OPR-12 | projections                     | E_psi @ taubar -> E_psi
OPR-12 | projections                     | E_psi @ tau -> 0 * E_psi
OPR-12 | projections                     | E_psi @ G -> 0 * K
OPR-12 | projections                     | psi_tilde @ G -> 0 * K
OPR-12 | projections                     | psi_tilde @ tau -> 0 * tau
OPR-12 | projections                     | psi @ G -> G
OPR-12 | projections                     | taubar @ U -> 0 * U
OPR-12 | projections                     | tau @ U -> U
OPR-12 | projections                     | E_psi @ U -> 0 * U
OPR-12 | projections                     | psi_tilde @ U -> 0 * U
OPR-12 | projections                     | psi @ U -> U
OPR-13 | Riccati                         | P - E_psi @ P @ E_psi.T -> M
OPR-13 | Riccati                         | P - E_psi @ P @ E_phi.T -> M
OPR-13 | Riccati                         | P - E_phi @ P @ E_phi.T + K @ D @ K.T -> M
OPR-14 | psi gathers, psi* scatters      | psi.T @ H.T = E_psi.T @ psi.T @ H.T + H.T
OPR-15 | psi and phi                     | phi.inverse + K @ H -> psi.inverse
OPR-15 | psi and phi                     | psi.inverse - K @ H -> phi.inverse
OPR-15 | psi and phi                     | 1 + K @ H @ phi -> psi.inverse @ phi
OPR-15 | psi and phi                     | 1 + phi @ K @ H -> phi @ psi.inverse
OPR-15 | psi and phi                     | 1 - K @ H @ psi -> phi.inverse @ psi
OPR-15 | psi and phi                     | 1 - psi @ K @ H -> psi @ phi.inverse
OPR-15 | inverse of the innovations      | (1 + H @ phi @ K) @ (1 - H @ psi @ K) -> 1
OPR-15 | inverse of the innovations      | (1 - H @ psi @ K) @ (1 + H @ phi @ K) -> 1
OPR-15 | what the innovations see        | (1 - H @ psi @ K) @ H @ phi -> H @ psi
OPR-15 | what the innovations see        | phi @ K @ (1 - H @ psi @ K) -> psi @ K
OPR-15 | what the innovations see        | (1 + H @ phi @ K) @ H @ psi -> H @ phi
OPR-15 | what the innovations see        | psi @ K @ (1 + H @ phi @ K) -> phi @ K
OPR-16 | articulated decomposition       | P + phi_tilde @ P + P @ phi_tilde.T +
    phi @ K @ D @ K.T @ phi.T -> phi @ M @ phi.T
OPR-16 | articulated decomposition       | P + psi_tilde @ P + P @ psi_tilde.T -> psi @ M @ psi.T
OPR-16 | articulated decomposition       | psi @ P + P @ psi_tilde.T -> psi @ M @ psi.T
OPR-16 | covariance of innovations       | H @ psi @ M @ psi.T @ H.T -> D
OPR-17 | operational space               | psi.T @ H.T @ D.inverse @ H @ psi -> Omega
OPR-17 | operational space               | Omega = phi.T @ H.T @ inverse_mass_matrix @ H @ phi
OPR-18 | backward Lyapunov               | Upsilon = diagonal(Omega)
OPR-19 | common ancestors                | Omega = by_ancestors(Omega)
OPR-20 | operational space inertia       | J @ inverse_mass_matrix @ J.T = B.T @ Omega @ B
ABI-4  | innovations factorisation       | H @ phi @ M @ phi.T @ H.T =>
    (1 + H @ phi @ K) @ D @ (1 + H @ phi @ K).T
ABI-4  | innovations factorisation       | H @ phi @ M @ psi.T @ H.T -> (1 + H @ phi @ K) @ D
ABI-5  | inverse of the mass matrix      | inverse_mass_matrix @ H @ phi @ M @ phi.T @ H.T = one_v
MAS-7  | elements of the mass matrix     | H @ phi @ M @ phi.T @ H.T =
    H @ R @ H.T + H @ phi_tilde @ R @ H.T + H @ R @ phi_tilde.T @ H.T
MOM-2  | momentum of everything          | E @ phi @ M @ phi.T -> E @ phi @ R
MOM-1  | inertia of everything           | phi @ R @ E.T -> R @ E.T
INR-2  | about the world origin          | H_I @ O -> H
INR-2  | about the world origin          | H @ O.inverse -> H_I
INR-2  | about the world origin          | O @ M @ O.T -> M_I
INR-2  | about the world origin          | O @ phi @ O.inverse -> phi_I
INR-2  | about the world origin          | O @ E_phi @ O.inverse -> E_I
INR-2  | about the world origin          | 1 - E_I -> phi_I.inverse
INR-3  | the same mass matrix            | H_I @ phi_I @ M_I @ phi_I.T @ H_I.T -> H @ phi @ M @ phi.T @ H.T
"""


class Law(NamedTuple):
    """One line of the table, with both sides as text."""

    source: str
    name: str
    left: str
    right: str
    use: str  # "->", "=>" or "="

    @property
    def text(self) -> str:
        return f"{self.left} = {self.right}"


class Rule(NamedTuple):
    """A law in the form used by `simplify`: an expression, and its replacement."""

    source: str
    name: str
    left: Operator
    right: Operator


@cache
def laws() -> tuple[Law, ...]:
    """Every line of the table."""
    found = []
    for line in TABLE.replace("\n    ", " ").strip().splitlines():
        source, name, text = (part.strip() for part in line.split("|"))
        use = next(sign for sign in ("=>", "->", "=") if f" {sign} " in text)
        left, _, right = text.partition(f" {use} ")
        found.append(Law(source, name, left, right, use))
    return tuple(found)


@cache
def rules(use: str) -> tuple[Rule, ...]:
    """The rules for one use, each also transposed if that gives a different rule; the longest first."""
    found = [rule for law in laws() if law.use == use for rule in _both(law)]
    return tuple(sorted(found, key=lambda rule: -sum(1 for _ in letters_of(rule.left))))


def _both(law: Law) -> Iterator[Rule]:
    left = letters.read(law.left)
    right = like(left, law.right)
    yield Rule(law.source, law.name, left, right)
    if left.T not in (left, right):
        yield Rule(law.source, law.name, left.T, right.T)


def like(left: Operator, text: str) -> Operator:
    """The right side of a law; a number means a multiple of the identity between the spaces of the left."""
    found = left.home.read(text)
    if isinstance(found, int):
        return left._beside(found)
    if isinstance(found, Sum) and all(c == 0 for c, _ in terms_of(found)):
        return Sum(left.home, left.rows, left.columns, ())
    return found
