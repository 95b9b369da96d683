"""Reading and writing by index: values as NumPy or PyTorch have them, views, gradients, errors that change nothing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from tests.ops.arrays import host, on

RANDOM = np.random.default_rng(0)
DATA = RANDOM.standard_normal((4, 5, 3))
MASK = DATA > 0


def with_arrays(index: Any, convert: Callable[[np.ndarray], Any]) -> Any:
    """`index` with its arrays converted to tensors."""
    if isinstance(index, tuple):
        return tuple(with_arrays(item, convert) for item in index)
    return convert(index) if isinstance(index, np.ndarray) else index


A, B = np.array([0, 1]), np.array([1, 2])
INDICES = {
    "number": 1, "negative": -1, "slice": slice(1, 3), "step": slice(None, None, 2), "beyond": slice(10, 20),
    "ellipsis": (Ellipsis, 0), "new": (None, 0), "element": (0, 1, 2), "numpy number": np.int64(2), "all": slice(None),
    "array": A, "repeated": np.array([0, 1, 1]), "negative array": np.array([-1, -4]), "2-d": A.reshape(2, 1),
    "none picked": np.zeros((2, 0), np.int64), "list": [0, 2], "pair": (A, B), "apart": (A, slice(None), B),
    "broadcast": (A.reshape(2, 1), B), "after a slice": (slice(0, 2), np.array([0, 2])),
    "after an ellipsis": (Ellipsis, B), "between ellipses": (Ellipsis, 0, Ellipsis), "two ellipses": (0, Ellipsis, 1, Ellipsis, 2),
    "new between ellipses": (Ellipsis, None, Ellipsis), "array between ellipses": (Ellipsis, B, Ellipsis),
    "only ellipses": (Ellipsis, Ellipsis),
    "after a number": (0, slice(None), A), "between numbers": (0, A, 0), "new between": (A, None, B),
    "0-d": np.array(2),
    "mask": MASK, "mask of rows": MASK[:, 0, 0], "mask of two": MASK[:, :, 0], "later mask": (slice(None), MASK[0]),
    "mask and array": (np.array([0]), MASK[0]), "mask and slice": (MASK[:, 0, 0], slice(None), np.array([0])),
    "bools": [True, False, True, False], "true": True, "false": False, "empty list": [], "int32": A.astype(np.int32),
    "nested list": [[0, 1], [1, 2]], "list of tuples": ([0, 1], [1, 2]),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_getitem_as_torch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    x, y = on(device, DATA, True), torch.tensor(DATA, requires_grad=True)
    found = x[with_arrays(INDICES[name], lambda a: on(device, a))]
    expected = y[with_arrays(INDICES[name], torch.tensor)]
    assert found.shape == tuple(expected.shape)
    np.testing.assert_array_equal(host(found), expected.detach().numpy())
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    np.testing.assert_allclose(host(x.grad), y.grad.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("kind", ["number", "0-d", "full", "row", "leading ones"])
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_setitem_as_torch(name: str, kind: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    shape = tuple(torch.tensor(DATA)[with_arrays(INDICES[name], torch.tensor)].shape)
    value: Any = {"number": 2.5, "0-d": np.float64(1.5), "row": RANDOM.standard_normal(shape[-1:]),
                  "full": RANDOM.standard_normal(shape), "leading ones": RANDOM.standard_normal((1, 1, *shape))}[kind]
    x, y = on(device, DATA, True), torch.tensor(DATA, requires_grad=True)
    ours = value if kind == "number" else on(device, value, True)
    theirs = value if kind == "number" else torch.tensor(value, requires_grad=True)
    found, expected = x * 2, y * 2
    found[with_arrays(INDICES[name], lambda a: on(device, a))] = ours
    expected[with_arrays(INDICES[name], torch.tensor)] = theirs
    np.testing.assert_array_equal(host(found), expected.detach().numpy())
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    np.testing.assert_allclose(host(x.grad), y.grad.numpy())
    if kind != "number" and theirs.grad is not None:
        np.testing.assert_allclose(host(ours.grad), theirs.grad.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("last", [1, [0], None])
def test_indices_after_two_ellipses_as_torch(last: Any, device: str) -> None:
    torch = pytest.importorskip("torch")
    for index in ((Ellipsis, Ellipsis, last), (Ellipsis, 0, Ellipsis, last), (0, 1, Ellipsis, last, Ellipsis)):
        try:
            expected = tuple(torch.tensor(DATA)[index].shape)
        except IndexError:
            with pytest.raises(IndexError):
                on(device, DATA)[index]
        else:
            assert on(device, DATA)[index].shape == expected


def test_basic_index_is_a_view(device: str) -> None:
    x = on(device, DATA)
    for index in (0, slice(1, 3), (0, 1, 2), (Ellipsis, 1), None, slice(None), ()):
        view = x[index]
        assert view._base is x
    x[1, 2][0] = 7.0
    assert x[1, 2, 0].item() == 7.0
    element = x[0, 0, 0]
    x[0] = 3.0
    assert element.item() == 3.0
    copy = x[on(device, A)]
    copy[...] = 0.0
    assert x[0, 0, 0].item() == 3.0


def test_second_gradients(device: str) -> None:
    x = on(device, DATA[:2, :3, :2], True)
    index = on(device, np.array([0, 1, 1]))
    mask = on(device, MASK[:2, :3, :2])
    for function in (lambda t: t[0, 1:], lambda t: t[:, index], lambda t: t[mask], lambda t: t[index, index]):
        assert gradcheck(function, (x,)) and gradgradcheck(function, (x,))


def test_setitem_gradients(device: str) -> None:
    x, v = on(device, DATA[:3, 0], True), on(device, DATA[3, 0], True)

    for at in (1, slice(0, 2), on(device, [2, 0]), (slice(None), 1), on(device, MASK[:3, 0, 0])):
        def write(x: lucid.Tensor, v: lucid.Tensor, at: Any = at) -> lucid.Tensor:
            y = x * x
            y[at] = v * x[0]
            return y

        assert gradcheck(write, (x, v)) and gradgradcheck(write, (x, v))


def test_write_through_a_view_reaches_the_graph(device: str) -> None:
    x, v = on(device, DATA[0, 0], True), on(device, [2.0, 3.0], True)
    y = x * 1
    part = y[1:]
    part[on(device, [1, 0])] = v
    (y * on(device, [1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [1, 0, 0] and v.grad.tolist() == [100, 10]
    assert part.grad_fn is not None


def test_write_into_a_leaf_is_refused(device: str) -> None:
    x = on(device, DATA, True)
    for write in (lambda: x.__setitem__(0, 1.0), lambda: x[0].__setitem__(on(device, A), 1.0),
                  lambda: x.masked_fill_(on(device, MASK), 0.0)):
        with pytest.raises(RuntimeError, match="a (view of a )?leaf Variable that requires grad"):
            write()
    np.testing.assert_array_equal(host(x), DATA)
    with lucid.no_grad():
        x[0] = 1.0
    assert x[0, 0, 0].item() == 1.0


def test_write_makes_saved_tensors_stale(device: str) -> None:
    x = on(device, [1.0, 2.0], True)
    y = x * 1
    z = y * y
    y[0] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_later_writes_to_an_index_do_not_change_gradients(device: str) -> None:
    x, index = on(device, [1.0, 2.0, 3.0], True), on(device, [0, 0])
    y = x[index]
    index[...] = 2
    y.sum().backward()
    assert x.grad.tolist() == [2, 0, 0]


def test_values_are_cast(device: str) -> None:
    x = lucid.zeros(3, dtype=lucid.int64, device=device)
    x[0] = 2.7
    x[1:] = on(device, [1.5, -1.5])
    assert x.tolist() == [2, 1, -1]
    half = lucid.zeros(2, dtype=lucid.bfloat16, device=device)
    half[0] = 1.5
    half[on(device, [1])] = on(device, [2.5]).to(lucid.bfloat16)
    assert half.tolist() == [1.5, 2.5]
    w = on(device, [1.0, 2.0], True).to(lucid.float64)
    base = lucid.zeros(4, device=device)
    v = lucid.tensor([1.0, 2.0], dtype=lucid.float64, device=device, requires_grad=True)
    base[:2] = v
    base.sum().backward()
    assert v.grad.dtype == lucid.float64 and w.dtype == lucid.float64


def test_index_on_the_cpu_of_a_tensor_elsewhere(device: str) -> None:
    x = on(device, DATA)
    np.testing.assert_array_equal(host(x[lucid.tensor([1, 2])]), DATA[1:3])
    np.testing.assert_array_equal(host(x[lucid.tensor(MASK)]), DATA[MASK])
    x[lucid.tensor([0])] = 0.0
    assert x[0].abs().sum().item() == 0


def test_errors(device: str) -> None:
    x = on(device, DATA)
    before = host(x).copy()
    for index, kind, message in [
            (4, IndexError, "index 4 is out of bounds for dimension 0 with size 4"),
            ((0, -6), IndexError, "index -6 is out of bounds for dimension 1 with size 5"),
            ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
            (slice(None, None, -1), ValueError, "step must be greater than zero"),
            (on(device, [0.5]), IndexError, "must be long, int, byte or bool"), (1.5, IndexError, "valid indices"),
            (on(device, [True, False]), IndexError, "shape of the mask"),
            ((on(device, [0, 1]), on(device, [0, 1, 2])), IndexError, "could not be broadcast together")]:
        with pytest.raises(kind, match=message):
            x[index]
        with pytest.raises(kind, match=message):
            x[index] = 1.0
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        on(device, 1.0)[0]
    with pytest.raises(RuntimeError):
        x[0] = lucid.zeros(7, dtype=lucid.float64, device=device)
    with pytest.raises(RuntimeError):
        x[on(device, A)] = lucid.zeros(7, dtype=lucid.float64, device=device)
    np.testing.assert_array_equal(host(x), before)
    with pytest.raises(RuntimeError, match="single memory location"):
        lucid.zeros(1, device="cpu").expand(3)[:2] = 1.0
