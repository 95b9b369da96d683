"""The first implementation that suits a problem is chosen, once for each problem."""
from __future__ import annotations

import pytest
from lucid_kernels.cpu.runtime.implementations import Implementations, anything, unmet


def test_the_first_that_suits_is_chosen_once() -> None:
    asked = []

    def even(problem: int) -> str | None:
        asked.append(problem)
        return unmet((problem % 2 == 0, "odd"), (problem < 10, "large"))

    some = Implementations(halve=(even, lambda: "halve"), small=(lambda problem: unmet((problem < 5, "5 and more")), lambda: "small"),
                           other=(anything, lambda: "other"))
    assert [some.choose(problem).name for problem in (4, 3, 7, 12, 4)] == ["halve", "small", "other", "other", "halve"]
    assert asked == [4, 3, 7, 12]
    assert some.choose(3).run() == "small"
    assert list(some.explain(12)) == ["  halve: large", "  small: 5 and more", "  other: chosen"]
    assert list(some.explain(2)) == ["  halve: chosen", "  small: would do, but comes later", "  other: would do, but comes later"]


def test_a_list_without_a_last_resort_raises() -> None:
    with pytest.raises(StopIteration):
        Implementations(never=(lambda problem: "no", print)).choose(1)
