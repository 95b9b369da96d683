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


def test_any_number_of_arguments_needs_the_general_function() -> None:
    assert forwarding(lambda *sizes: sizes, general, True, True) is general


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
