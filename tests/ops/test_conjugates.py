"""Complex conjugates are views: what is written to one is seen in the tensor that it is of, and the other way round."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import lucid
from lucid import Tensor, nn

CONJUGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "conj": Tensor.conj, "mH": lambda x: x.mH, "H": lambda x: x.H, "adjoint": lucid.adjoint, "view": lambda x: x.conj()[0],
    "real": lambda x: x.conj().real, "imag": lambda x: x.T.conj().imag, "twice": lambda x: x.conj().conj(),
    "of a part": lambda x: x[0].conj(), "detached": lambda x: x.conj().detach(), "twice, of parts": lambda x: x[:, 1:].mH[0].conj(),
    "strided": lambda x: x.conj().as_strided((2,), (2,), 1), "as real": lambda x: lucid.view_as_real(x.conj())}
WRITES: dict[str, Callable[[Tensor], Any]] = {
    "mul_": lambda y: y.mul_(2), "item": lambda y: y.__setitem__(0, 7), "+=": lambda y: y.__iadd__(1), "zero_": Tensor.zero_,
    "copy_": lambda y: y.copy_(y.clone() * 3), "out": lambda y: lucid.add(y, 1, out=y), "square": lambda y: lucid.mul(y, y, out=y),
    "normal_": lambda y: y.normal_(generator=lucid.Generator(y.device).manual_seed(3)),
    "foreach": lambda y: lucid._foreach_mul_([y], 2), "sqrt_": Tensor.sqrt_,
    "masked_fill_": lambda y: y.masked_fill_(lucid.tensor(True, device=y.device), 1),
    "index_fill_": lambda y: y.index_fill_(0, lucid.tensor([0], device=y.device), 1)}


def values(device: str) -> Tensor:
    return lucid.tensor([[1 + 2j, 3 - 1j], [0j, 1j]], device=device)


def same(a: Tensor, b: Tensor) -> bool:
    return lucid.equal(lucid.nan_to_num(a), lucid.nan_to_num(b))  # two zeros of other signs are equal


@pytest.mark.parametrize("conjugate", CONJUGATES)
def test_writes_are_seen_by_both(conjugate: str, device: str) -> None:
    of = CONJUGATES[conjugate]
    for name, write in WRITES.items():
        x = values(device)
        y, other = of(x), x.conj()
        wanted = y.clone()
        write(wanted)
        write(y)
        assert same(y, wanted) and same(of(x), wanted) and same(other, x.conj_physical()), name
        x = values(device)
        y, wanted = of(x), x.clone()
        write(wanted)
        write(x)
        assert same(x, wanted) and same(y, of(wanted)), name


def test_as_pytorch(device: str) -> None:
    torch = pytest.importorskip("torch")

    def program(lib: Any, **place: Any) -> list[Any]:
        x = lib.tensor([[1 + 2j, 3 - 1j], [0j, 1j]], **place)
        y, z = x.conj(), x[0].conj()
        y.T[1].mul_(2 + 1j)
        z.conj()[0] = 4j
        x[1].add_(z)
        y.mH.mH.sub_(1)
        return [t.tolist() for t in (x, y, z)] + [t.is_conj() for t in (x, y, z, y[0], y.conj(), y.mH, y + 0, y.clone(), x.mH.T)]

    assert program(lucid, device=device) == program(torch)


def test_a_conjugate_outlives_its_tensor() -> None:
    x = values("cpu")
    row, rest = x.mH[0], x[0]
    del x
    row.mul_(1j)
    assert rest.tolist() == [2 - 1j, 3 - 1j]
    row.conj().zero_()
    assert rest.tolist() == [0j, 3 - 1j]


def test_copies_have_memory_of_their_own() -> None:
    x = values("cpu")
    for copied in (x.conj().clone(), x.conj().resolve_conj(), x.conj_physical(), lucid.conj_physical(x), x.conj() + 0,
                   copy.deepcopy(x.conj())):
        assert not copied.is_conj() and copied.mul_(0).abs().sum() == 0
    assert x.tolist() == values("cpu").tolist()
    assert x.resolve_conj() is x and x.conj_physical_().tolist() == values("cpu").conj().tolist()


def test_of_real_tensors_it_is_the_tensor_itself() -> None:
    x = lucid.ones(2, 2)
    x.conj().mul_(3)
    x.mH[0, 1] = 5
    x.adjoint().H.real.add_(1)
    assert x.tolist() == [[4.0, 4.0], [6.0, 4.0]]


def test_a_conjugate_of_elements_that_share_memory_is_not_written() -> None:
    x = lucid.tensor([1 + 1j]).expand(3)
    y = x.conj()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        y.mul_(2)
    assert y.tolist() == [1 - 1j] * 3


def test_writes_and_gradients(device: str) -> None:
    w = lucid.tensor([1 + 1j, 2j], device=device, requires_grad=True)
    a = w * 1
    y = a.conj()
    a.mul_(2j)
    assert y.tolist() == [-2 - 2j, -4 + 0j]
    (y * (1 + 1j)).real.sum().backward()
    assert w.grad.tolist() == [2 - 2j, 2 - 2j]  # type: ignore[union-attr]
    w.grad = None
    a = w * 1
    y = a.conj()
    y.mul_(2j)
    assert a.tolist() == [2 - 2j, 4 + 0j]
    (a * (1 + 1j)).real.sum().backward()
    assert w.grad.tolist() == [2 + 2j, 2 + 2j]  # type: ignore[union-attr]
    a = w * 1
    squared = a.conj() * a
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.real.sum().backward()


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"foreach": False}])
def test_a_step_of_an_optimizer(options: dict[str, Any], device: str) -> None:
    w = nn.Parameter(values(device))
    with lucid.no_grad():
        seen = w.mH
    w.grad = lucid.ones_like(w)
    lucid.optim.SGD([w], lr=0.5, **options).step()
    assert seen.tolist() == (values(device) - 0.5).mH.tolist()


def test_compiled_functions() -> None:
    def step(z: Tensor) -> tuple[Tensor, ...]:
        turned = z * 1j
        y = turned.conj()
        turned.add_(1)
        y.mul_(2)
        return (z.conj() * z).real.mul_(2), y, turned * 1

    compiled = lucid.compile(step, fullgraph=True)
    for number in range(5):
        z = values("cpu") + number
        assert all(map(lucid.equal, step(z), compiled(z)))


def test_a_compiled_function_that_returns_both_runs_eagerly() -> None:
    def step(z: Tensor) -> tuple[Tensor, Tensor]:
        turned = z * 1j
        return turned.conj(), turned

    compiled = lucid.compile(step)
    with pytest.warns(UserWarning, match="it returns a tensor whose memory another one has too"):
        compiled(values("cpu"))
    first, second = compiled(values("cpu"))
    second.zero_()
    assert first.abs().sum() == 0


def test_inside_of_transforms_writes_are_refused() -> None:
    def double(z: Tensor) -> Tensor:
        y = z.conj()
        return y.mul_(2)

    with pytest.raises(RuntimeError, match=r"inside of vmap, grad and other transforms"):
        lucid.func.vmap(double)(values("cpu"))
    found = lucid.func.vmap(lambda z: (z.conj() * z).real.sum())(values("cpu"))
    assert found.tolist() == [15.0, 1.0]
    twice = lucid.func.vmap(lambda z: z.conj().resolve_conj().mul_(2) if z.conj().is_conj() else z)(values("cpu"))
    assert twice.tolist() == (2 * values("cpu").conj()).tolist()


def test_without_memory_of_their_own() -> None:
    places = values("cpu").to_sparse()
    turned = places.conj()
    places.mul_(2)
    assert turned.to_dense().tolist() == values("cpu").conj().tolist()
    for empty in (lucid.zeros(0, 3, dtype=lucid.complex64), lucid.zeros(2, dtype=lucid.complex64, device="meta")):
        turned = empty.conj()
        assert turned.mul_(2) is turned and empty.add_(1).shape == turned.shape
