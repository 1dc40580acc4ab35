"""The letters as attributes: `kt.letters.phi`, and the same at a state, `kt.operators(model, q).phi`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.errors import KinetreeError
from kinetree.soa.alphabet import ALPHABET, frames_map
from kinetree.soa.home import Home
from kinetree.soa.operator import Letter, Operator


class _Named(property):
    """An attribute that returns the letter of its name."""

    def __init__(self, name: str):
        super().__init__(lambda home: home.letter(name), doc=ALPHABET[name].meaning)


class Alphabet(Home):
    """A home of all letters of the alphabet."""

    E_phi, phi, phi_tilde, H, M, E, R = map(_Named, "E_phi phi phi_tilde H M E R".split())
    P, U, D, G, K, tau, taubar = map(_Named, "P U D G K tau taubar".split())
    E_psi, psi, psi_tilde, Omega, Upsilon = map(_Named, "E_psi psi psi_tilde Omega Upsilon".split())
    O, E_I, phi_I, H_I, M_I = map(_Named, "O E_I phi_I H_I M_I".split())

    def __init__(self) -> None:
        self._letters: dict[Any, Letter] = {}
        self._read: dict[str, Operator] = {}

    def letter(self, name: str, *args: str) -> Letter:
        key = (name, args)
        if key not in self._letters:
            spec = frames_map(args) if name == "B" else ALPHABET.get(name)
            if spec is None:
                known = ", ".join(ALPHABET)
                raise KinetreeError(f"there is no letter {name!r}; there are {known} and B(frames)")
            self._letters[key] = Letter.of(self, name, spec, args)
        return self._letters[key]

    def read(self, text: str) -> Operator:
        if text not in self._read:
            self._read[text] = super().read(text)
        return self._read[text]

    def rules(self, use: str) -> tuple[Any, ...]:
        from kinetree.soa.rules import rules

        return rules(use)

    def B(self, frames: str | Sequence[str]) -> Letter:
        """Forces at frames, in their axes, as forces on bodies. Its transpose gives the motions of frames."""
        return self.letter("B", *([frames] if isinstance(frames, str) else map(str, frames)))

    @property
    def mass_matrix(self) -> Operator:
        """(1 + H phi K) D (1 + H phi K)^T, equal to H phi M phi^T H^T."""
        return self.read("(1 + H @ phi @ K) @ D @ (1 + H @ phi @ K).T")

    @property
    def inverse_mass_matrix(self) -> Operator:
        """(1 - H psi K)^T D^-1 (1 - H psi K)."""
        return self.read("(1 - H @ psi @ K).T @ D.inverse @ (1 - H @ psi @ K)")


class Letters(Alphabet):
    """The letters without a state: for derivations, and for `kt.function_of`."""

    is_abstract = True

    def __reduce__(self) -> str:
        return "letters"  # there is only one

    def __repr__(self) -> str:
        return "letters without a state"


letters = Letters()
letters.__doc__ = """The letters of the spatial operator algebra without a state.

    L = kt.letters
    mass = L.H @ L.phi @ L.M @ L.phi.T @ L.H.T
    solve = kt.function_of(mass.inverse, "q, x -> a")

They combine like those of `kt.operators`; `A.at(kt.operators(model, q))` gives them numbers, and
`kt.function_of` makes a function of a model of them.
"""
