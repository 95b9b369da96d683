"""Operators leave operands that they do not know to Python, which asks the other class or raises TypeError."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import lucid

BINARY = {name: getattr(operator, name) for name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift")}
IN_PLACE = {name: getattr(operator, f"i{name.strip('_')}") for name in BINARY}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class Other:
    """Takes a tensor on its left, and none on its right."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _answering(name: str) -> Callable[[Any, Any], str]:
    return lambda self, tensor: f"{name} of {type(tensor).__name__}"


for _name in BINARY:
    setattr(Other, f"__r{_name.strip('_')}__", _answering(_name))
for _name in COMPARISONS:
    setattr(Other, f"__{_name}__", _answering(_name))
Other.__rdivmod__ = _answering("divmod")  # type: ignore[attr-defined]
Other.__hash__ = object.__hash__  # type: ignore[assignment]


@pytest.mark.parametrize("name", BINARY)
def test_the_other_class_is_asked(name: str, device: str) -> None:
    for x in (lucid.tensor([1, 2], device=device), lucid.tensor([1.0, 2.0], device=device), lucid.tensor(2, device=device)):
        before = x.tolist()
        assert BINARY[name](x, Other()) == f"{name} of Tensor"
        assert IN_PLACE[name](x, Other()) == f"{name} of Tensor"
        assert x.tolist() == before


@pytest.mark.parametrize("name", COMPARISONS)
def test_the_other_class_is_asked_to_compare(name: str, device: str) -> None:
    assert COMPARISONS[name](lucid.tensor([1, 2], device=device), Other()) == f"{MIRRORED[name]} of Tensor"


def test_divmod_is_left_to_the_other_class() -> None:
    assert divmod(lucid.tensor([1, 2]), Other()) == "divmod of Tensor"


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_operands_without_a_meaning(name: str, device: str) -> None:
    x = lucid.tensor([1, 2], device=device)
    for other in (None, [0], "a", (1, 2), {1: 2}, object()):
        if name in ("eq", "ne"):
            assert COMPARISONS[name](x, other) is (name == "ne")
            assert COMPARISONS[name](other, x) is (name == "ne")
            continue
        function = BINARY.get(name) or COMPARISONS[name]
        with pytest.raises(TypeError, match="only integer tensors|unsupported operand|not supported between instances"):
            function(x, other)
        if not (name == "mod" and isinstance(other, str)):  # which formats
            with pytest.raises(TypeError):
                function(other, x)
        if name in IN_PLACE:
            with pytest.raises(TypeError):
                IN_PLACE[name](x, other)
            assert x.tolist() == [1, 2]


def test_sequences_are_repeated(device: str) -> None:
    twice = lucid.tensor(2, device=device)
    assert [0] * twice == twice * [0] == [0, 0]
    assert "ab" * twice == twice * "ab" == "abab"
    assert (1, 2) * lucid.tensor([2], device=device) == (1, 2, 1, 2)
    items: list[Any] = [0]
    items += lucid.tensor([1, 2], device=device)
    assert [int(item) for item in items] == [0, 1, 2]


def test_errors_of_two_tensors_stay() -> None:
    mask = lucid.tensor([True])
    for wrong in (lambda: mask - mask, lambda: 1 - mask, lambda: mask - True):
        with pytest.raises(RuntimeError, match="`-` operator"):
            wrong()
    with pytest.raises(RuntimeError, match="same dtype"):
        lucid.ones(2, 2) @ lucid.ones(2, 2, dtype=lucid.float64)
    with pytest.raises(TypeError, match="needs tensors or numbers"):
        lucid.add(lucid.ones(2), "a")


def test_powers_of_bools(device: str) -> None:
    x = lucid.tensor([True, False], device=device)
    for exponent, expected in ((True, [True, False]), (False, [True, True])):
        for result in (x ** exponent, x.pow(exponent), x.clone().pow_(exponent), lucid.pow(x, exponent)):
            assert result.tolist() == expected
            assert result.dtype == lucid.bool
    assert (x ** 2).tolist() == [1, 0]
    with pytest.raises(NotImplementedError, match="Bool"):
        x ** x
