"""`lucid._foreach_*`: as the operations one by one, in place and not, with numbers, lists and tensors."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid._namespace.lazy import LAZY
from lucid.ops import foreach

NAMES = [name for name in LAZY["lucid"] if name.startswith("_foreach_")]


def lists(device: str = "cpu") -> list[Any]:
    return [lucid.tensor([0.25, 0.5], device=device), lucid.tensor([[0.75], [0.125]], device=device)]


def test_every_name_is_there_and_is_pytorchs() -> None:
    assert all(callable(getattr(lucid, name)) for name in NAMES)
    torch = pytest.importorskip("torch")
    assert sorted(NAMES) == sorted(name for name in dir(torch) if name.startswith("_foreach_"))


@pytest.mark.parametrize("name", foreach._UNARY)
def test_unary(name: str) -> None:
    tensors = lists()
    expected = [getattr(t, name)() for t in tensors]
    result = getattr(lucid, f"_foreach_{name}")(tensors)
    assert type(result) is tuple and all(map(lucid.equal, result, expected))
    assert getattr(lucid, f"_foreach_{name}_")(tensors) is tensors and all(map(lucid.equal, tensors, expected))


def test_operands(device: str) -> None:
    a, b = lists(device), lists(device)
    for name in ("add", "sub", "mul", "div", "pow", "clamp_min", "maximum"):
        method = {"maximum": "clamp_min"}.get(name, name)
        for other, beside in ((2, (2, 2)), ([2, 0.5], (2, 0.5)), (b, b)):
            result = getattr(lucid, f"_foreach_{name}")(a, other)
            assert all(lucid.equal(r, getattr(t, method)(o)) for r, t, o in zip(result, a, beside, strict=True))
            written = [t.clone() for t in a]
            getattr(lucid, f"_foreach_{name}_")(written, other)
            assert all(map(lucid.equal, written, result))
    assert lucid._foreach_add(a, b, alpha=2)[0].tolist() == [0.75, 1.5]
    assert lucid._foreach_mul(a, lucid.tensor(2.0, device=device))[1].tolist() == [[1.5], [0.25]]
    assert lucid._foreach_lerp(a, b, [0.5, 1.0])[0].device == device
    assert lucid._foreach_addcmul(a, b, b, lucid.tensor([1.0, 2.0]))[1].tolist() == [[1.875], [0.15625]]
    assert lucid._foreach_pow(2, a)[0].tolist() == pytest.approx([2 ** 0.25, 2 ** 0.5])
    assert lucid._foreach_copy_(a, lucid._foreach_clone(b)) is a and lucid._foreach_zero_(a)[0].tolist() == [0, 0]


def test_gradients_flow() -> None:
    a = [t.requires_grad_() for t in lists()]
    sum(t.sum() for t in lucid._foreach_mul(lucid._foreach_exp(a), a)).backward()
    assert lucid.allclose(a[0].grad, (a[0].exp() * (1 + a[0])).detach())


CALLS = {
    "(a, 1)": "add sub mul div maximum minimum clamp_min clamp_max pow", "(a, [1.])": "add mul pow maximum", "(a, b[:1])": "add div",
    "([], 1)": "add", "(a, T([2.]))": "add mul", "(a, b, alpha=2)": "add sub", "(a, 2, alpha=2)": "add sub", "(a, 'x')": "add mul",
    "(a[0], 1)": "add", "([1], 1)": "add", "(a, [1, 2j])": "mul", "(self=a, scalar=1.5)": "add clamp_max", "(a, b)": "lerp maximum mm",
    "(self=a, scalars=[1, 2])": "add div", "(a, b, b)": "addcmul addcdiv lerp", "(a, b, 0.3)": "lerp addcmul", "(a, b, b, [2, 3])":
    "addcmul addcdiv", "(a, b, b, T(1.))": "addcmul", "(a, b, b, T([1.]))": "addcmul", "(a, b, b, scalars=[2, 3])": "addcdiv",
    "(a, b[:1], b)": "lerp addcmul", "(a, b, [.1])": "lerp", "(a, b, weight=[.1, .2])": "lerp", "(a, b, b, [1])": "addcmul",
    "(a)": "norm powsum max clone exp round", "(a, 3)": "norm powsum", "(a, [1])": "norm", "([])": "norm max exp clone zero_",
    "(a, ord=1, dtype=float64)": "norm powsum", "(a, float('inf'))": "norm", "(ints, 2)": "add mul div pow clamp_min norm powsum",
    "(ints, 1.5)": "add mul pow add_ mul_", "(2.5, a)": "pow", "(2.5, ints)": "pow", "(a, T(2.))": "add mul div maximum", "(ints)":
    "sigmoid abs sqrt max", "([c], [c.t()])": "mm", "([E])": "max abs", "(ints, T(2.))": "add mul", "(a, T(2.), alpha=3)": "add"}


@pytest.mark.torch
def test_calls_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def outcome(lib: Any, name: str, arguments: str) -> Any:
        a = [lib.tensor([0.25, 0.5]), lib.tensor([[0.75], [0.125]])]
        known = {"a": a, "b": [t * 2 for t in a], "T": lib.tensor, "ints": [lib.tensor([1, 2])], "float64": lib.float64,
                 "c": lib.ones(2, 3), "E": lib.ones(0)}
        try:
            result = eval(f"function{arguments}", known | {"function": getattr(lib, f"_foreach_{name}")})
        except (RuntimeError, TypeError, NotImplementedError) as error:
            return type(error).__name__, str(error).split("\n")[0] if type(error) is RuntimeError else ""
        return [(str(t.dtype).removeprefix("torch."), [round(complex(v).real, 5) for v in t.reshape(-1).tolist()]) for t in result]

    different = {}
    for arguments, names in CALLS.items():
        for name in names.split():
            ours, theirs = outcome(lucid, name, arguments), outcome(torch, name, arguments)
            if ours != theirs:
                different[f"{name}{arguments}"] = ours, theirs
    assert not different
