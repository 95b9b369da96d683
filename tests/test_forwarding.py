"""The frame before functions with `out` and NumPy's keywords: what it takes, and what its errors name."""
from __future__ import annotations

import inspect

import pytest

import lucid
from lucid._namespace.forwarding import forwarding


def plain(input: int, dim: int = 1, *, keep: bool = False) -> tuple[str, int, int, bool]:
    return "plain", input, dim, keep


def general(*args: object, **keywords: object) -> tuple[str, tuple[object, ...], dict[str, object]]:
    return "general", args, keywords


def test_own_arguments_go_straight_to_the_function() -> None:
    call = forwarding(plain, general, True, True)
    assert call(3) == call(input=3) == ("plain", 3, 1, False)
    assert call(3, 4, keep=True) == call(dim=4, keep=True, input=3) == ("plain", 3, 4, True)


def test_others_go_to_the_general_function_without_defaults() -> None:
    call = forwarding(plain, general, True, True)
    assert call(3, axis=2) == ("general", (3,), {"axis": 2})
    assert call(3, keep=True, axis=2, out=5) == ("general", (3,), {"keep": True, "axis": 2, "out": 5})
    assert call(a=3) == ("general", (), {"a": 3})
    assert call(dim=2, a=3) == ("general", (), {"dim": 2, "a": 3})
    assert call(3, 4, out=5) == ("general", (3, 4), {"out": 5})


def test_without_other_keywords_the_error_is_that_of_the_function() -> None:
    call = forwarding(plain, general, True, False)
    with pytest.raises(TypeError, match=r"plain\(\) got an unexpected keyword argument 'axis'"):
        call(3, axis=2)
    with pytest.raises(TypeError, match=r"plain\(\) takes from"):
        call(1, 2, 3)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'input'"):
        lucid.exp()


def test_any_number_of_arguments_with_keywords_needs_the_general_function() -> None:
    call = forwarding(lambda *sizes, a=0: ("plain", sizes, a), general, True, True)
    assert call() == ("plain", (), 0) and call(1, 2) == ("plain", (1, 2), 0)
    assert call(1, a=2) == ("general", (1,), {"a": 2}) and call(out=3) == ("general", (), {"out": 3})


def test_what_writes_is_asked_once_and_with_all_arguments() -> None:
    asked: list[int] = []
    given: list[tuple[object, ...]] = []

    def ask() -> object:
        asked.append(1)
        return write

    def write(*arguments: object) -> bool:
        given.append(arguments)
        return arguments[0] == "memory"

    call = forwarding(plain, general, True, False, ask)
    assert call(1, out="memory") == "memory" and call(2, 3, out="other") == ("general", (2, 3), {"out": "other"})
    assert asked == [1] and given == [("memory", 1, 1, False), ("other", 2, 3, False)]
    assert forwarding(plain, general, True, False, lambda: None)(1, 2, out="memory") == ("general", (1, 2), {"out": "memory"})


def test_numpys_names_with_out(device: str) -> None:
    x, out = lucid.ones(2, 3, device=device), lucid.zeros(2, 1, device=device)
    assert lucid.sum(a=x, axis=1, keepdims=True, out=out) is out
    assert out.tolist() == [[3], [3]]
    assert list(inspect.signature(lucid.sum).parameters)[:3] == ["input", "dim", "keepdim"]


def test_out_may_be_an_operand_and_is_refused_where_it_cannot_be_written(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], device=device)
    assert lucid.add(x, x, out=x) is x
    assert x.tolist() == [2, 4]
    assert lucid.sub(1.0, x, out=x).tolist() == [-1, -3]
    weight = lucid.ones(2, device=device, requires_grad=True)
    for operands, out in (((x, weight), x), ((weight, x), x), ((x, x), weight)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            lucid.mul(*operands, out=out)
    saved = weight * x
    lucid.mul(x, x, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
