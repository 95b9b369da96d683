"""Complex conjugates have memory of their own: a write that would reach another tensor in PyTorch is refused."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lucid
from lucid import Tensor

CONJUGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "conj": Tensor.conj, "mH": lambda x: x.mH, "H": lambda x: x.H, "adjoint": lucid.adjoint, "view": lambda x: x.conj()[0],
    "real": lambda x: x.conj().real, "twice": lambda x: x.conj().conj(), "of a part": lambda x: x[0].conj(),
    "detached": lambda x: x.conj().detach()}
WRITES: dict[str, Callable[[Tensor], Any]] = {
    "mul_": lambda y: y.mul_(2), "item": lambda y: y.__setitem__(0, 0), "+=": lambda y: y.__iadd__(1), "zero_": Tensor.zero_,
    "copy_": lambda y: y.copy_(y.clone()), "out": lambda y: lucid.add(y, 1, out=y), "normal_": Tensor.normal_,
    "foreach": lambda y: lucid._foreach_mul_([y], 2), "masked_fill_": lambda y: y.masked_fill_(lucid.tensor(True, device=y.device), 1),
    "index_fill_": lambda y: y.index_fill_(0, lucid.tensor([0], device=y.device), 1)}


def values(device: str) -> Tensor:
    return lucid.tensor([[1 + 2j, 3 - 1j], [0j, 1j]], device=device)


@pytest.mark.parametrize("conjugate", CONJUGATES)
def test_a_write_is_refused(conjugate: str, device: str) -> None:
    x = values(device)
    y = CONJUGATES[conjugate](x)
    before = y.tolist()
    for write in WRITES.values():
        with pytest.raises(RuntimeError, match="Inplace update to a complex conjugate"):
            write(y)
    assert y.tolist() == before and x.tolist() == values(device).tolist()


def test_copies_may_be_written() -> None:
    x = values("cpu")
    for copied in (x.conj().clone(), x.conj().resolve_conj(), x.conj_physical(), lucid.conj_physical(x), x.conj() + 0):
        assert copied.mul_(0).abs().sum() == 0
    assert x.tolist() == values("cpu").tolist()
    assert x.resolve_conj() is x and x.conj_physical_().tolist() == values("cpu").conj().tolist()


def test_nobody_else_has_the_memory() -> None:
    doubled = (2 * values("cpu")).conj()
    doubled.mul_(2)
    assert doubled.tolist() == (4 * values("cpu").conj()).tolist()
    x = values("cpu")
    y = x.conj()
    del x
    y[0, 0] = 5
    assert y[0, 0].item() == 5


def test_of_real_tensors_it_is_the_tensor_itself() -> None:
    x = lucid.ones(2, 2)
    x.conj().mul_(3)
    x.mH[0, 1] = 5
    x.adjoint().H.real.add_(1)
    assert x.tolist() == [[4.0, 4.0], [6.0, 4.0]]


def test_gradients_and_compiled_functions_use_conjugates() -> None:
    x = values("cpu").requires_grad_()
    (x.mH @ x).real.sum().backward()
    with lucid.no_grad():
        x -= x.grad.conj() * 0.1  # type: ignore[union-attr]
    step = lucid.compile(lambda z: (z.conj() * z).real.mul_(2))
    assert all(step(values("cpu")).tolist() == [[10.0, 20.0], [0.0, 2.0]] for _ in range(4))
