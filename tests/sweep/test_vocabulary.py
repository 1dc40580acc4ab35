"""The vocabulary knows every argument of every function, and says about it what the code does."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.conftest import each

import kinetree as kt
from kinetree.algorithms.contact import contact_response
from kinetree.errors import KinetreeError
from kinetree.names import MODULE_OF
from kinetree.sweep.vocabulary import WORDS, implied, meaning

FUNCTIONS = {name: f for name in MODULE_OF if isinstance(f := getattr(kt, name), kt.Function)}
CHOICES = [(name, option) for name, f in FUNCTIONS.items() for option in f.options if WORDS[option].choices]
OPTIONS = {"frame": "link7", "frames": ("link7",), "accelerate": ("joint1",)}


def test_every_argument_is_in_it():
    def check(name):
        function = FUNCTIONS[name]
        for argument in function.inputs:
            assert argument.name in WORDS, f"say in sweep/vocabulary.py what {argument.name} is"
            assert WORDS[argument.name].shape in (argument.shape, None), argument
            assert WORDS[argument.name].absent or not argument.optional, argument
        for option in function.options:
            word = WORDS[option]
            assert word.choices or word.type, f"say in sweep/vocabulary.py what {option} may be"

    each(FUNCTIONS, check)


def test_every_word_is_used():
    used = {p for f in FUNCTIONS.values() for p in inspect.signature(f).parameters} - {"model"}
    inside = {a.name for a in contact_response.inputs} | set(contact_response.options)  # is not public
    assert used <= set(WORDS) <= used | inside


def test_docstrings_say_it():
    def check(name):
        text = inspect.getdoc(FUNCTIONS[name])
        for argument in FUNCTIONS[name].own_inputs:
            about = meaning(argument.name, not argument.optional)
            assert f"{argument.name} {argument.text}: {about}." in text
            assert argument.optional or "left out" not in about

    each(FUNCTIONS, check)


def called(name: str, **options):
    function, model = FUNCTIONS[name], kt.zoo.arm7()
    given = {option: OPTIONS[option] for option in function.options if option in OPTIONS} | options
    inputs = {a.name: np.zeros(a.sizes(model, given)) for a in function.inputs if not a.optional}
    return function(model, **inputs, **given, target="eager")


@pytest.mark.parametrize(("name", "option"), CHOICES)
def test_exactly_the_choices_are_accepted(name, option):
    for value in WORDS[option].choices:
        called(name, **{option: value})
    with pytest.raises(KinetreeError, match=f"{option}.*nonsense"):
        called(name, **{option: "nonsense"})


def test_names_that_it_lacks_are_single_numbers():
    assert implied("gain") == () and meaning("gain") == ""
    assert implied("f_ext") == ("nb", 6)
    assert meaning("f_ext").endswith("about the body origin, N m and N; zero if left out")
