"""Reading and writing by index: values as NumPy or PyTorch have them, views, gradients, errors that change nothing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(0)
DATA = RANDOM.standard_normal((4, 5, 3))
MASK = DATA > 0


def host(tensor: lucid.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


def on(device: str, array: Any, requires_grad: bool = False) -> lucid.Tensor:
    return lucid.tensor(np.asarray(array), device=device, requires_grad=requires_grad)


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
    "after an ellipsis": (Ellipsis, B),
    "after a number": (0, slice(None), A), "between numbers": (0, A, 0), "new between": (A, None, B),
    "0-d": np.array(2),
    "mask": MASK, "mask of rows": MASK[:, 0, 0], "mask of two": MASK[:, :, 0], "later mask": (slice(None), MASK[0]),
    "mask and array": (np.array([0]), MASK[0]), "mask and slice": (MASK[:, 0, 0], slice(None), np.array([0])),
    "bools": [True, False, True, False], "true": True, "false": False, "empty list": [], "int32": A.astype(np.int32),
    "nested list": [[0, 1], [1, 2]], "list of tuples": ([0, 1], [1, 2]),
}


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
        lucid.zeros(1, device="cpu").expand(3)[0] = 1.0


# On x of length 4 with the indices (0, 4), which follow it to its device, and (2, 5, 3) numbers.
OUT_OF_RANGE: dict[str, Callable[[lucid.Tensor, lucid.Tensor, lucid.Tensor], Any]] = {
    "getitem": lambda x, bad, source: x[bad],
    "getitem negative": lambda x, bad, source: x[bad - 5],
    "getitem int32": lambda x, bad, source: x[bad.to(lucid.int32)],
    "getitem behind a slice": lambda x, bad, source: x[:, None, bad + 1],
    "getitem beside a mask": lambda x, bad, source: x[on(x.device, [True, False, True, False]), bad + 1],
    "getitem of a view": lambda x, bad, source: x.T[..., bad],
    "setitem": lambda x, bad, source: x.__setitem__(bad, 1.0),
    "setitem numbers": lambda x, bad, source: x.__setitem__(bad, source),
    "setitem pairs": lambda x, bad, source: x.__setitem__((bad, bad), 1.0),
    "index_select": lambda x, bad, source: x.index_select(0, bad),
    "index_select negative": lambda x, bad, source: x.index_select(0, bad - 4),
    "index_add": lambda x, bad, source: x.index_add_(0, bad, source),
    "index_copy": lambda x, bad, source: x.index_copy_(0, bad, source),
    "index_fill": lambda x, bad, source: x.index_fill_(0, bad, 0.0),
    "index_put": lambda x, bad, source: x.index_put_((bad,), source),
    "index_put accumulate": lambda x, bad, source: x.index_put_((bad,), source, accumulate=True),
    "gather": lambda x, bad, source: x.gather(0, bad.reshape(2, 1, 1)),
    "gather negative": lambda x, bad, source: x.gather(0, bad.reshape(2, 1, 1) - 5),
    "take_along_dim": lambda x, bad, source: x.take_along_dim(bad.reshape(2, 1, 1), 0),
    "scatter": lambda x, bad, source: x.scatter_(0, bad.reshape(2, 1, 1), 1.0),
    "scatter_add": lambda x, bad, source: x.scatter_add_(0, bad.reshape(2, 1, 1), source),
    "take": lambda x, bad, source: x.take(bad + 60),
    "length of zero": lambda x, bad, source: x[:0][bad],
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range(device: str, name: str) -> None:
    """The CPU raises at once, before it writes; a GPU at the next wait, once, and writes nothing outside the tensor."""
    around = lucid.zeros(8, 5, 3, dtype=lucid.float64, device=device)
    x = around[2:6]
    x[...] = on(device, DATA)
    bad, source = on(device, [0, 4]), lucid.ones(2, 5, 3, dtype=lucid.float64, device=device)
    call = OUT_OF_RANGE[name]
    with pytest.raises(IndexError, match="out of (bounds|range)"):
        call(x, bad, source)
        assert device == "gpu"
        lucid.gpu.synchronize()
    if device == "cpu":
        np.testing.assert_array_equal(host(x), DATA)
    assert host(around[:2]).sum() == host(around[6:]).sum() == 0


@pytest.mark.parametrize("wait", [lambda y: y.cpu(), lambda y: y.tolist(), lambda y: y.numpy(force=True), lambda y: y[0].item(),
                                  lambda y: bool(y[0]), lambda y: float(y[0]), repr, lambda y: y.nonzero().cpu(),
                                  lambda y: lucid.gpu.synchronize()])
def test_every_wait_raises_what_is_out_of_range(wait: Callable[[lucid.Tensor], Any]) -> None:
    x = lucid.tensor([1.0, 2.0, 3.0], device=gpu_or_skip())
    y = x[on("gpu", [1, 3])]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        wait(y)
    wait(x)


def test_indices_are_checked_without_a_wait() -> None:
    x, index, column = lucid.ones(3, 4, device=gpu_or_skip()), on("gpu", [0, 2, 1]), on("gpu", [[0], [1], [2]])
    x[index]  # the first call compiles and allocates
    import cupyx

    with cupyx.allow_synchronize(False):
        y = x[index] + x.index_select(0, index) + x.gather(0, column)
        x[index] = y
        lucid.nn.functional.embedding(index, x)
        lucid.nn.functional.nll_loss(x, index)
    assert x.sum().item() == 36


def gpu_or_skip() -> str:
    if not lucid.gpu.is_available():
        pytest.skip("needs the simulator or a GPU")
    return "gpu"


M = RANDOM.standard_normal((3, 4))
ROWS = np.array([[0, 1, 2, 0], [2, 2, 1, 0]])
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "gather": (lambda m, x, i: m.gather(x, 0, i), (M, ROWS)),
    "gather short": (lambda m, x, i: m.gather(x, 1, i), (M, ROWS[:, :2])),
    "scatter": (lambda m, x, i, s: m.scatter(x, 0, i, s), (M, np.array([[0, 1, 2, 0], [1, 2, 0, 2]]), M[:2])),
    "scatter number": (lambda m, x, i: m.scatter(x, 0, i, 2.0), (M, ROWS)),
    "scatter_add": (lambda m, x, i, s: m.scatter_add(x, 0, i, s), (M, ROWS, M[:2])),
    "scatter_add_": (lambda m, x, i, s: (x * 2).scatter_add_(0, i, s), (M, ROWS, M[:2])),
    "index_select": (lambda m, x, i: m.index_select(x, 1, i), (M, np.array([1, 1, 3]))),
    "index_add": (lambda m, x, i, s: m.index_add(x, 1, i, s, alpha=2), (M, np.array([1, 1]), M[:, :2])),
    "index_add_": (lambda m, x, i, s: (x * 2).index_add_(1, i, s), (M, np.array([1, 1]), M[:, :2])),
    "index_copy": (lambda m, x, i, s: m.index_copy(x, 1, i, s), (M, np.array([0, 2]), M[:, :2])),
    "index_fill": (lambda m, x, i: m.index_fill(x, 1, i, 3.0), (M, np.array([0, 2]))),
    "index_put": (lambda m, x, i, s: m.index_put(x, (i,), s), (M, np.array([0, 2]), M[:2])),
    "index_put accumulate": (lambda m, x, i, s: m.index_put(x, (i, i), s, accumulate=True),
                             (M, np.array([1, 1]), M[0, :2])),
    "index_put number": (lambda m, x, i, s: m.index_put(x, (i,), s, accumulate=True), (M, np.array([1, 1]), M[0, 0])),
    "masked_fill": (lambda m, x, k, v: m.masked_fill(x, k, v), (M, M > 0, M[0, 0])),
    "masked_fill broadcast": (lambda m, x, k: m.masked_fill(x, k, 2.0), (M, M[:1] > 0)),
    "masked_fill_": (lambda m, x, k, v: (x * 2).masked_fill_(k, v), (M, M[0] > 0, M[0, 0])),
    "masked_select": (lambda m, x, k: m.masked_select(x, k), (M, M > 0)),
    "masked_scatter": (lambda m, x, k, s: m.masked_scatter(x, k, s), (M, M > 0, RANDOM.standard_normal(12))),
    "take": (lambda m, x, i: m.take(x, i), (M, np.array([[0, -1, 0]]))),
    "take_along_dim": (lambda m, x, i: m.take_along_dim(x, i, 1), (M, np.array([[0, 1]]))),
    "sort": (lambda m, x: m.sort(x, 1, descending=True).values, (M,)),
    "topk": (lambda m, x: m.topk(x, 2, 0).values, (M,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_torch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    function, arrays = FUNCTIONS[name]
    ours = [on(device, a, np.asarray(a).dtype.kind == "f") for a in arrays]
    theirs = [torch.tensor(a, requires_grad=np.asarray(a).dtype.kind == "f") for a in arrays]
    found, expected = function(lucid, *ours), function(torch, *theirs)
    np.testing.assert_allclose(host(found), expected.detach().numpy())
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    for mine, reference in zip(ours, theirs, strict=True):
        if reference.grad is not None:
            np.testing.assert_allclose(host(mine.grad), reference.grad.numpy())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_gradients(name: str, device: str) -> None:
    function, arrays = FUNCTIONS[name]
    inputs = tuple(on(device, a, np.asarray(a).dtype.kind == "f") for a in arrays)
    assert gradcheck(lambda *t: function(lucid, *t), inputs)
    assert gradgradcheck(lambda *t: function(lucid, *t), inputs)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float16", "bfloat16"])
def test_repeated_indices_add_up_in_every_dtype(dtype: str, device: str) -> None:
    x = lucid.zeros(3, dtype=dtype, device=device)
    index = on(device, [1, 1, 2])
    ones = lucid.ones(3, dtype=dtype, device=device)
    assert x.index_add(0, index, ones).tolist() == [0, 2, 1]
    assert x.scatter_add(0, index, ones).tolist() == [0, 2, 1]
    assert x.index_put((index,), ones, accumulate=True).tolist() == [0, 2, 1]


def test_sort(device: str) -> None:
    x = on(device, [3.0, np.nan, 1.0, 3.0, -np.inf])
    values, indices = x.sort()
    assert indices.tolist() == [4, 2, 0, 3, 1] and indices.dtype == lucid.int64
    np.testing.assert_array_equal(host(values), [-np.inf, 1, 3, 3, np.nan])
    assert x.sort(descending=True).indices.tolist() == [1, 0, 3, 2, 4]
    assert x.argsort().tolist() == [4, 2, 0, 3, 1]
    assert on(device, [True, False]).sort().values.tolist() == [False, True]
    assert x.to(lucid.bfloat16).argsort().tolist() == [4, 2, 0, 3, 1]
    assert lucid.zeros(0, 3, device=device).sort(0).indices.shape == (0, 3)
    assert on(device, 2.0).sort().indices.item() == 0
    assert x.topk(2).indices.tolist() == [1, 0] and x.topk(1, largest=False).values.item() == -np.inf
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(6)


def test_nonzero(device: str) -> None:
    x = on(device, M > 0)
    np.testing.assert_array_equal(host(x.nonzero()), np.argwhere(M > 0))
    rows, columns = x.nonzero(as_tuple=True)
    assert rows.tolist() == np.nonzero(M > 0)[0].tolist() and columns.dtype == lucid.int64
    assert on(device, 3.0).nonzero().shape == (1, 0) and on(device, 0.0).nonzero().shape == (0, 0)
    assert lucid.zeros(0, 2, device=device).nonzero().shape == (0, 2)


def test_function_errors(device: str) -> None:
    x = on(device, M)
    for call, message in [
            (lambda: x.gather(0, on(device, [0])), "same number of dimensions"),
            (lambda: x.gather(0, on(device, M)), "Expected dtype"),
            (lambda: x.scatter_add(0, on(device, ROWS), on(device, M[:1])), "no larger than src"),
            (lambda: x.index_add(0, on(device, [0]), on(device, M[:2])), "does not match the slices"),
            (lambda: x.index_add(0, on(device, [0]), on(device, M[:1].astype(np.float32))), "same scalar type"),
            (lambda: x.masked_fill(on(device, ROWS), 0.0), "bool for mask"),
            (lambda: x.masked_fill(on(device, M > 0), on(device, M[0])), "0-dimensional value"),
            (lambda: x.index_put((on(device, [0]),), on(device, M[0].astype(np.float32))),
             "source and destination dtypes")]:
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(IndexError, match="supposed to be a vector"):
        x.index_select(0, on(device, ROWS))


def test_out_of_range_has_the_classes_of_torch() -> None:
    x, index = lucid.tensor(M), lucid.tensor([[3]])
    for kind in (IndexError, RuntimeError):
        with pytest.raises(kind, match="index 3 is out of bounds for dimension 0 with size 3"):
            x.gather(0, index)
