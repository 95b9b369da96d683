"""The cases of `lucid.compile`: bits are compared before anything is timed, and lines say how long recordings take."""
from __future__ import annotations

import pytest

import lucid
from bench.cases import compile as family
from bench.library import Library
from bench.targets.training import training_step


def test_a_step_has_the_same_bits_and_notes():
    call = family._step(Library("lucid"), family.DEEP)
    assert call().shape == ()
    assert family.fastest_layout(Library("lucid"), family.DEEP, training_step)().shape == ()
    assert call.notes.startswith("same bits, replay ")
    assert ", recorded " in call.notes and call.notes.endswith(" of eager")


def test_other_bits_are_a_failure():
    made = []

    def make(compiled):
        factor = len(made) + 1.0
        made.append(factor)
        return compiled(lambda: lucid.ones(2) * factor)

    with pytest.raises(AssertionError, match="call 0 gives other bits"):
        family._compiled(Library("lucid"), make)


def test_a_step_as_a_graph_by_hand(device):
    if device == "cpu":
        pytest.skip("a CPU has no graphs")
    library = Library("lucid", "gpu")
    replay = family.graphed(library, family.DEEP)
    step = training_step(library, family.DEEP, capturable=True)
    eager = [step().item() for _ in range(5)]
    assert [replay().item() for _ in range(2)] == eager[3:]  # three steps come before the graph
