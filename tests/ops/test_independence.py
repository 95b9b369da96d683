"""Arguments that a result does not depend on get gradients of zeros, not none, as in PyTorch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.derivatives import leaf, uniform


def assigned(tensor: Any, key: Any, value: Any) -> Any:
    tensor[key] = value
    return tensor


# A function of a module, of what it overwrites and of others; and shapes.
CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "copy_": (lambda t, z, x: (z * 1).copy_(x), ((3,), (3,))),
    "copy_ of a row": (lambda t, z, x: (z * 1).copy_(x), ((3, 2), (2,))),
    "copy_ of constants": (lambda t, z: (z * 1).copy_(t.ones_like(z)), ((3,),)),
    "copy_ into a view": (lambda t, z, x: (z * 1).view(-1).copy_(x), ((3,), (3,))),
    "fill_": (lambda t, z: (z * 1).fill_(2.0), ((3,),)),
    "fill_ of a tensor": (lambda t, z, x: (z * 1).fill_(x), ((3,), ())),
    "zero_": (lambda t, z: (z * 1).zero_(), ((3,),)),
    "masked_fill": (lambda t, z, x: z.masked_fill(z == z, x), ((3,), ())),
    "masked_fill_": (lambda t, z: (z * 1).masked_fill_(z == z, 2.0), ((3,),)),
    "masked_scatter": (lambda t, z, x: z.masked_scatter(z == z, x), ((3,), (3,))),
    "where": (lambda t, z, x: t.where(z == z, x, z), ((3,), (3,))),
    "index": (lambda t, z, x: assigned(z * 1, ..., x), ((3,), (3,))),
    "index of a mask": (lambda t, z: assigned(z * 1, z == z, 2.0), ((3,),)),
    "slice_scatter": (lambda t, z, x: t.slice_scatter(z, x), ((3,), (3,))),
    "cat": (lambda t, z, x: t.cat([z, x]), ((0,), (3, 2))),
    "cat of empty ones": (lambda t, z, x: t.cat([z, x]), ((0,), (0,))),
    "matrix_power": (lambda t, z: t.linalg.matrix_power(z, 0), ((3, 3),)),
    "sign": (lambda t, z: t.sign(z), ((3,),)),
    "floor_": (lambda t, z: (z * 1).floor_(), ((3,),)),
    "clamp": (lambda t, z: z.clamp(5, 6), ((3,),)),
    "mul": (lambda t, z: z * 0, ((3,),)),
    "pow": (lambda t, z: z ** 0, ((3,),)),
    "add": (lambda t, z, x: t.add(x, z, alpha=0), ((3,), (3,))),
    "addcmul": (lambda t, z, x, y: t.addcmul(x, z, y, value=0), ((3,), (3,), (3,))),
    "lerp": (lambda t, z, x: t.lerp(z, x, 1.0), ((3,), (3,))),
}
SUMS = {"addmm": ((3, 4), (3, 2), (2, 4)), "addmv": ((3,), (3, 2), (2,)), "addr": ((3, 4), (3,), (4,)),
        "addbmm": ((3, 4), (2, 3, 2), (2, 2, 4)), "baddbmm": ((2, 3, 4), (2, 3, 2), (2, 2, 4))}
for name, shapes in SUMS.items():
    for beta in (0, 0.0):
        CASES[f"{name} {beta}"] = (
            lambda t, z, x, y, name=name, beta=beta: getattr(t, name)(z, x, y, beta=beta), shapes)
    CASES[f"{name} of a number"] = (lambda t, z, x, y, name=name: getattr(t, name)(z, x, y, beta=0), ((1,), *shapes[1:]))
    CASES[f"{name}_"] = (lambda t, z, x, y, name=name: getattr(z * 1, f"{name}_")(x, y, beta=0, alpha=2), shapes)
each = pytest.mark.parametrize("case", CASES)


@each
@pytest.mark.parametrize("dtype", ["float32", "complex128", "float16"])
def test_zeros(case: str, dtype: str, device: str) -> None:
    function, shapes = CASES[case]
    kind = getattr(lucid, dtype)
    if case in ("sign", "floor_", "clamp") and kind.kind == "c":
        pytest.skip("not of complex numbers")
    inputs = [lucid.tensor(uniform(*shape, seed=seed), device=device).to(kind).requires_grad_()
              for seed, shape in enumerate(shapes)]
    result = function(lucid, *inputs)
    assert result.requires_grad
    result.abs().sum().backward()
    gradient = inputs[0].grad
    assert gradient is not None and gradient.shape == inputs[0].shape and gradient.dtype == kind and gradient.device == device
    assert not gradient.abs().sum().item()
    for other in inputs[1:]:
        assert other.grad is not None and other.grad.shape == other.shape


@each
@pytest.mark.torch
def test_as_in_pytorch(case: str) -> None:
    torch = pytest.importorskip("torch")
    function, shapes = CASES[case]
    arrays = [uniform(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    ours = [leaf(a, "cpu") for a in arrays]
    results = function(torch, *theirs), function(lucid, *ours)
    np.testing.assert_allclose(results[1].detach().numpy(), results[0].detach().numpy(), rtol=1e-12, atol=1e-15)
    for result in results:
        result.sum().backward()
    for other, mine in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-12, atol=1e-15)


def test_nothing_is_recorded_for_what_needs_no_gradient(device: str) -> None:
    z, x = lucid.ones(3, 3, device=device), lucid.ones(3, 3, device=device)
    assert not lucid.addmm(z, x, x, beta=0).requires_grad
    w = leaf(np.ones((3, 3)), device)
    with lucid.no_grad():
        assert not lucid.addmm(w, w, w, beta=0).requires_grad
    x.copy_(w.float())
    x.sum().backward()
    assert w.grad is not None and (w.grad == 1).all()


def test_the_gradients_can_be_differentiated(device: str) -> None:
    z, x = leaf(uniform(3, 3), device), leaf(uniform(3, 3, seed=1), device)
    first = lucid.autograd.grad((lucid.addmm(z, x, x, beta=0) ** 2).sum(), (z, x), create_graph=True)
    second = lucid.autograd.grad((first[0] + first[1]).sum(), x)
    assert second[0].isfinite().all() and not first[0].any()


def test_kl_div_of_targets_that_have_no_logarithm(device: str) -> None:
    """The slope of ``t log t`` is infinite at 0; PyTorch's is NaN, as it is below."""
    x = leaf(np.full(4, -2.0), device)
    t = leaf(np.array([0.5, 0.0, -0.0, -0.5]), device)
    y = lucid.nn.functional.kl_div(x, t, reduction="none")
    assert y[:3].tolist() == [0.5 * np.log(0.5) + 1.0, 0.0, 0.0] and y[3].isnan()
    y.sum().backward()
    assert t.grad[1:].isnan().all() and abs(t.grad[0].item() - (np.log(0.5) + 3)) < 1e-12
    assert x.grad.tolist() == [-0.5, 0.0, 0.0, 0.5]


COMPARISONS = ("eq_", "ne_", "lt_", "le_", "gt_", "ge_", "greater_", "greater_equal_", "less_", "less_equal_", "not_equal_")


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_written_in_place_pass_zeros_to_both_sides(name, device):
    x, y = (lucid.tensor(data, device=device, requires_grad=True) for data in ([[1.0, 2.0], [3.0, 4.0]], [1.0, 5.0]))
    plain = getattr(x.detach(), name[:-1])(y.detach()).float()
    for target in (x * 1, lucid.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)):
        row = target[0]
        assert getattr(target, name)(y * 1) is target and target.requires_grad
        assert target.tolist() == plain.tolist() and row.requires_grad
        assert lucid.autograd.grad((target * target).sum(), y)[0].tolist() == [0, 0]
    target = x * 1
    getattr(target, name)(2)
    assert lucid.autograd.grad(target.sum(), x)[0].tolist() == [[0, 0], [0, 0]]
    whole = lucid.tensor([[1, 2], [3, 4]], device=device)
    assert not getattr(whole, name)(y).requires_grad  # integers have no gradient


@pytest.mark.parametrize("name", ["logical_not_", "logical_and_", "logical_or_", "logical_xor_"])
def test_logic_written_in_place_passes_zeros(name, device):
    x = lucid.tensor([0.0, 2.0], device=device, requires_grad=True)
    y = x * 3
    getattr(y, name)(*(() if name == "logical_not_" else (lucid.ones(2, device=device),)))
    assert lucid.autograd.grad(y.sum(), x)[0].tolist() == [0, 0]


@pytest.mark.parametrize("draw", [
    lucid.bernoulli, lambda p: p.bernoulli(), lambda p: lucid.bernoulli(p, 0.5), lambda p: lucid.normal(p, 1.0),
    lambda p: lucid.normal(0.0, p), lambda p: lucid.normal(p, p), lambda p: lucid.normal(p, lucid.ones_like(p.expand(4, 2))),
    lambda p: lucid.ones_like(p.detach()).bernoulli_(p), lambda p: (p * 1).bernoulli_(p), lambda p: (p * 1).normal_(),
    lucid.poisson, lambda p: lucid.binomial(p.detach() * 4, p), lambda p: lucid.binomial(p, p.detach()),
])
def test_random_numbers_pass_zeros_to_what_gives_their_distribution(draw, device):
    p = lucid.tensor([0.25, 0.75], device=device, requires_grad=True)
    drawn = draw(p)
    assert drawn.requires_grad
    assert lucid.autograd.grad(drawn.sum(), p)[0].tolist() == [0, 0]
    with lucid.no_grad():
        assert not draw(p).requires_grad
