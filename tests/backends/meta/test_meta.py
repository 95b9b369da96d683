"""The device 'meta': shapes, dtypes and strides without memory, and what happens where elements are needed."""
from __future__ import annotations

import contextlib
import copy
import math
import operator
import os
import pickle
import re

import numpy as np
import pytest

import lucid
from lucid import backends
from lucid.backends.meta import rules
from lucid.backends.meta.probe import probed
from lucid.extension.entry import MetaEntry
from lucid.nn import functional as F
from tests.backends.test_device import run
from tests.ops.table import ROWS
from tests.ops.table.outcomes import flat, inputs_of, tensors
from tests.ops.table.row import OF_STRIDES, Row

DTYPES = [lucid.float32, lucid.float64, lucid.float16, lucid.bfloat16]
READING = ("equal", "allclose", "from_dlpack")  # need elements or memory
# These have the lengths of their inputs among their arguments, or as many results as elements.
OF_ONE_SHAPE = frozenset("""
unbind vector
combinations with replacement
combinations none
reshape copy
broadcast_to
repeat_interleave each, with the size
Tensor.__getitem__ mask
Tensor.__getitem__ mask of the end
Tensor.__getitem__ mask and vector
Tensor.__setitem__ slices
Tensor.__setitem__ mask and vector
Tensor.__setitem__ whole mask
masked_fill
masked_fill broadcast
Tensor.masked_fill_
Tensor.masked_scatter_
index_put mask
Tensor.index_put_
linalg.tensorinv
linalg.tensorinv ind
linalg.tensorsolve
linalg.tensorsolve dims
""".split("\n"))
SLICES = ("topk", "multinomial")  # of longer results on the CPU, so strides differ
REFUSAL = "depends on elements|have no elements|no data"


def meta(*shape: int, **keywords: object) -> lucid.Tensor:
    return lucid.empty(*shape, device="meta", **keywords)


def pieces(value):
    return value if isinstance(value, (tuple, list)) else (value,)


def layout(tensor):
    """Shape, dtype and the strides that matter: those of dimensions longer than 1, unless there are no elements."""
    strides = [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1] if tensor.numel() else []
    return tensor.shape, tensor.dtype, strides


def assert_same_layout(function, *inputs):
    """`function` of the inputs gives on 'meta' what it gives on the CPU, as far as that can be said without elements."""
    expected = pieces(function(*inputs))
    found = pieces(function(*[t.to("meta") if isinstance(t, lucid.Tensor) else t for t in inputs]))
    assert all(t.is_meta for t in found)
    assert [layout(t) for t in found] == [layout(t) for t in expected]


@contextlib.contextmanager
def memory_limit(more):
    """At most so many bytes of addresses more than now."""
    resource = pytest.importorskip("resource")
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def enlarged(arrays, count=1 << 30):
    """The arrays as meta tensors, in float32 and in int64, with all of their lengths, or one of them, multiplied by what makes the
    largest have `count` elements.
    """
    largest = max(arrays, key=lambda array: array.size)
    lengths = sorted({n for array in arrays for n in array.shape if n > 1}, reverse=True)
    for which in (lengths, *[[n] for n in lengths if n in largest.shape]):
        times = sum(n in which for n in largest.shape)
        factor = math.ceil((count / max(largest.size, 1)) ** (1 / times)) if times else 1
        for dtype in (lucid.float32, lucid.int64):
            yield [meta(*[n * factor if n in which else n for n in a.shape], dtype=dtype if a.dtype.kind == "f" else a.dtype.name)
                   for a in arrays]


class TestTensor:
    def test_attributes(self):
        x = meta(2, 3, dtype=lucid.float16)
        assert x.is_meta
        assert not x.is_cuda
        assert x.device == "meta"
        assert (x.shape, x.dtype, x.numel(), x.nbytes, x.data_ptr()) == ((2, 3), lucid.float16, 6, 12, 0)
        assert x.type() == "lucid.meta.HalfTensor"
        assert not lucid.ones(1).is_meta

    def test_memory_is_never_touched(self):
        x = meta(10**6, 10**6, 10**3, requires_grad=True)
        y = (x.transpose(0, 2).softmax(-1) * 2).sum((0, 1))
        assert y.shape == (10**6,)
        y.backward(meta(10**6))
        assert x.grad.shape == x.shape
        assert x.grad.is_contiguous()

    def test_repr(self):
        assert repr(meta(2, 3)) == "Tensor(..., device='meta', shape=(2, 3), requires_grad=False)"
        assert repr(meta(2, dtype=lucid.int64)) == "Tensor(..., device='meta', shape=(2,), dtype=int64, requires_grad=False)"
        assert repr(meta(2, requires_grad=True) * 2) == "Tensor(..., device='meta', shape=(2,), requires_grad=True)"
        assert repr(lucid.nn.Parameter(meta())) == ("Parameter containing:\nTensor(..., device='meta', shape=(), "
                                                    "requires_grad=True)")

    def test_strides_and_memory_formats(self, device):
        x = lucid.ones(2, 3, 4, 5, device=device).to(memory_format=lucid.channels_last)
        y = x.to("meta")
        assert y.stride() == x.stride()
        assert y.is_contiguous(memory_format=lucid.channels_last)
        assert y.clone().stride() == x.stride()
        assert y.contiguous().stride() == (60, 20, 5, 1)
        assert lucid.empty_like(y, device=device).stride() == x.stride()

    def test_copies(self):
        x = meta(3, 2, requires_grad=True)
        x.grad = meta(3, 2)
        for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert other is not x
            assert (other.device, other.shape, other.requires_grad, other.grad.shape) == ("meta", (3, 2), True, (3, 2))
        y = pickle.loads(pickle.dumps(meta(2, 3, dtype=lucid.bfloat16).t()))
        assert (y.dtype, y.stride()) == (lucid.bfloat16, (1, 3))

    def test_from_and_to_other_devices(self, device):
        x = lucid.ones(2, device=device)
        assert x.to("meta").is_meta
        y = meta(2)
        assert y.to("meta") is y
        assert y.to(lucid.float64).is_meta
        for move in (lambda: y.to(device), lambda: x.copy_(y), lambda: operator.setitem(x, 0, y[0])):
            with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!.*to_empty"):
                move()
        assert x.tolist() == [1.0, 1.0]
        assert y.copy_(x) is y
        y[0] = x[0]
        assert lucid.zeros_like(y, device=device).tolist() == [0.0, 0.0]

    @pytest.mark.parametrize(("read", "error"), [
        (lambda x: x.item(), RuntimeError), (bool, RuntimeError), (int, RuntimeError), (float, RuntimeError),
        (lambda x: x.tolist(), NotImplementedError), (lambda x: x.numpy(), TypeError), (np.asarray, TypeError),
        (lambda x: x.numpy(force=True), NotImplementedError), (lambda x: x.__dlpack__(), BufferError),
        (lambda x: [1][x.to(lucid.int64)], RuntimeError), (lambda x: 1 in x.reshape(1), RuntimeError),
        (lambda x: lucid.tensor([x]), RuntimeError), (lambda x: np.add(np.ones(1), x._array), TypeError),
        (lambda x: np.concatenate([np.ones(1), x._array]), NotImplementedError),
    ])
    def test_reading_elements(self, read, error):
        with pytest.raises(error):
            read(meta())

    def test_gradients_do_not_come_out(self):
        x = lucid.ones(3, requires_grad=True)
        with pytest.raises(NotImplementedError, match="no data"):
            x.to("meta").sum().backward()

    def test_it_is_imported_on_first_use_and_needs_no_gpu(self):
        code = ("import sys, lucid\nassert 'lucid.backends.meta' not in sys.modules\n"
                "print((lucid.ones(2, device='meta') + 1).shape, lucid.gpu.is_available())\n"
                "from lucid import backends; backends.synchronize()")
        assert run(code, PATH="").startswith("lucid.Size([2])")


class TestOperations:
    def test_the_table_has_the_names_of_the_cpu(self):
        table = backends.meta_module().TABLE
        added = {name for name, kernel in table.items() if isinstance(kernel, MetaEntry)}  # by other tests, for one device
        assert set(table) - added == set(backends.cpu.TABLE) - added
        assert not set(rules.RULES) - set(backends.cpu.TABLE)

    @pytest.mark.parametrize("row", [r for r in ROWS if r.op not in SLICES], ids=lambda r: r.name)
    def test_every_row_of_the_op_table(self, row: Row):
        for dtype in DTYPES:
            arrays = inputs_of(row, dtype.name)
            inputs = tensors(lucid, arrays, dtype.name)
            if row.data_dependent or row.op in READING:
                with pytest.raises((RuntimeError, BufferError, AttributeError)):
                    row.function(*[t.to("meta") for t in inputs])
                continue
            try:
                row.function(*inputs)
            except Exception as error:  # of operations that do not take this dtype
                with pytest.raises((type(error), NotImplementedError)):
                    row.function(*[t.to("meta") for t in inputs])
                continue
            self.same_or_refused(row.function, *inputs)
            if arrays[0].ndim > 1 and row.op not in OF_STRIDES:
                self.same_or_refused(row.function, *[t.permute(*range(t.ndim)[::-1]) for t in tensors(
                    lucid, [a.T.copy(order="C") for a in arrays], dtype.name)])

    def same_or_refused(self, function, *inputs):
        """The same layout, or an error that says that elements are needed (masks, zeros among factors)."""
        try:
            function(*[t.to("meta") for t in inputs])
        except RuntimeError as error:
            assert re.search(REFUSAL, str(error))
        else:
            assert_same_layout(function, *inputs)

    @pytest.mark.parametrize("row", [r for r in ROWS if r.smooth and r.op not in READING], ids=lambda r: r.name)
    def test_gradients_of_every_row(self, row: Row):
        def gradients(*inputs):
            given = [t.detach().requires_grad_(t.is_floating_point()) for t in inputs]
            leaves = [t for t in given if t.requires_grad]
            results = [t.abs() if t.is_complex() else t for t in flat(row.function(*given)) if t.requires_grad]
            return [g for g in lucid.autograd.grad([t.sum() for t in results], leaves, allow_unused=True) if g is not None]

        self.same_or_refused(gradients, *tensors(lucid, row.inputs(np.random.default_rng(0)), "float64"))

    @pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="limits of memory are those of Linux")
    def test_no_operation_takes_memory(self):
        """Every row with 2^30 elements in 1 GiB: its lengths, all or one of them, are enlarged where its arguments allow that."""
        F.relu(lucid.ones(1 << 20))  # starts the threads, whose stacks count
        refused = []
        with memory_limit(1 << 30):
            for row in ROWS:
                if row.data_dependent or row.op in READING or row.name in OF_ONE_SHAPE:
                    continue
                for inputs in enlarged(row.inputs(np.random.default_rng(0))):
                    with contextlib.suppress(RuntimeError, IndexError, ValueError, NotImplementedError):
                        row.function(*inputs)
                        break
                else:
                    refused.append(row.name)
        assert refused == []

    def test_an_operation_without_a_rule_says_so(self, monkeypatch):
        """One whose lengths are those of its arguments needs none; any other must have one, or is refused without memory."""
        rows = {"sums": lambda x: x.sum(1), "doubled": lambda x: np.concatenate([x, x]), "longer": lambda x: np.zeros(len(x) + 1),
                "positive": lambda x: x[x > 1.5], "none": lambda x: x.astype(int).nonzero()[0], "two": lambda x: np.stack([x, x])}
        for name, kernel in rows.items():
            monkeypatch.setitem(backends.cpu.TABLE, name, kernel)
        big = meta(1 << 15, 1 << 16)._array
        assert probed("sums")(big).shape == (1 << 15,)
        for name in rows.keys() - {"sums", "none"}:
            with pytest.raises(NotImplementedError, match=f"'{name}'.*write a rule for it in lucid/backends/meta/rules"):
                probed(name)(big)
        with pytest.raises(NotImplementedError, match="'none'.*write a rule"):
            probed("none")(meta(1 << 15, dtype=lucid.int64)._array)

    @pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (4, 4), (3, 7), (7, 3)])
    def test_triangles(self, rows, columns):
        for offset in range(-9, 10):
            for function in (lucid.tril_indices, lucid.triu_indices):
                wanted = function(rows, columns, offset).shape
                assert function(rows, columns, offset, device="meta").shape == wanted
        for n, r, repeated in ((0, 3, True), (5, 3, True), (5, 3, False), (2, 3, False), (4, 1, True)):
            x = lucid.arange(n)
            wanted = lucid.combinations(x, r, repeated).shape
            assert lucid.combinations(x.to("meta"), r, repeated).shape == wanted
        assert lucid.tril_indices(1 << 28, 1 << 28, device="meta").shape == (2, (1 << 27) * ((1 << 28) + 1))

    @pytest.mark.parametrize("function", [
        lambda x: x.sum(), lambda x: x.sum((0, 2)), lambda x: x.mean(1, keepdim=True), lambda x: x.max(1), lambda x: x.argmax(),
        lambda x: x.var(-1), lambda x: x.std(), lambda x: x.prod(0), lambda x: x.cumsum(1), lambda x: x.logsumexp((1, 2)),
        lambda x: x.norm(), lambda x: x.any(1), lambda x: x.all(), lambda x: x.sum(dtype=lucid.float64),
        lambda x: x.amin((0, 1)),
        lambda x: x.sort(1), lambda x: x.topk(2, 1).values, lambda x: x.argsort(), lambda x: x.softmax(0),
        lambda x: x.log_softmax(-1),
        lambda x: x @ x.transpose(1, 2), lambda x: x.reshape(4, 10) @ x.reshape(10, 4), lambda x: x.matmul(x[0, 0]),
        lambda x: lucid.relu(x.transpose(0, 1)), lambda x: F.gelu(x), lambda x: F.silu(x), lambda x: x.sigmoid().tanh(),
        lambda x: x > 0, lambda x: x.to(lucid.int32) // 2, lambda x: x.clamp(0, 1), lambda x: lucid.where(x > 0, x, 0.5),
        lambda x: x.masked_fill(x > 0, 1.0), lambda x: F.pad(x, (1, 2)), lambda x: F.pad(x, (1, 1), mode="reflect"),
        lambda x: x.diagonal(1, 1, 2), lambda x: x.flip(1), lambda x: x.tril(), lambda x: x.roll(1, 0),
        lambda x: lucid.cat([x.transpose(0, 1), x.transpose(0, 1)], 1), lambda x: lucid.stack([x, x, x], 1),
        lambda x: x.view(lucid.int32), lambda x: x.transpose(0, 2).reshape(10, 4), lambda x: x[:, ::2].reshape(-1),
        lambda x: x.expand(3, *x.shape).reshape(3, 40), lambda x: x.split([1, x.shape[1] - 1], 1),
        lambda x: x.repeat(2, 1, 1), lambda x: x.repeat_interleave(3, 1),
        lambda x: F.layer_norm(x, x.shape[1:]), lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.dropout(x, 0.5), lambda x: x.clone().uniform_(), lambda x: x.bernoulli(0.5),
        lambda x: x[0, 0].multinomial(2),
        lambda x: lucid.rand_like(x), lambda x: x.new_zeros(3), lambda x: lucid.normal(x, x), lambda x: x.half() + x.double(),
        lambda x: x + lucid.tensor(1.0, dtype=lucid.float64), lambda x: lucid.tensor(2) * x, lambda x: lucid.real(x * 1j),
        lambda x: lucid.linalg.svd(x, full_matrices=False), lambda x: lucid.linalg.qr(x),
        lambda x: lucid.linalg.matrix_exp(x @ x.mT),
    ])
    @pytest.mark.parametrize("shape", [(2, 4, 5), (5, 4, 2)])
    def test_other_operations(self, function, shape):
        assert_same_layout(function, lucid.rand(*shape))

    @pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)], ids=str)
    @pytest.mark.parametrize("function", [lambda x: x + x, lambda x: x.exp().sum(), lambda x: x * 2 > 1, lambda x: x.clone(),
                                          lambda x: lucid.relu(x), lambda x: x.reshape(-1), lambda x: x.unsqueeze(0)])
    def test_empty_and_0d(self, function, shape):
        assert_same_layout(function, lucid.ones(shape))

    @pytest.mark.parametrize("index", [
        0, -1, slice(1, None), (slice(None), 1), (Ellipsis, None, 2), None, [0, 1, 1], (0, [2, 1]),
        ([[0], [1]], slice(None), [1, 2]),
        (slice(None), lucid.tensor([0, 3])), (lucid.tensor([1, 0]), 2)], ids=str)
    def test_indexing(self, index):
        assert_same_layout(lambda x: x[index], lucid.rand(2, 4, 5))
        assert_same_layout(lambda x: x[index], lucid.rand(5, 4, 2).permute(2, 1, 0))

    def test_meta_indices(self):
        x, index = lucid.rand(4, 5), lucid.tensor([3, 0, 1])
        for function in (lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x.index_select(1, i), lambda x, i: x.take(i),
                         lambda x, i: x.gather(1, i.expand(4, 3)), lambda x, i: F.embedding(i, x),
                         lambda x, i: x.index_add(0, i, x[:3]), lambda x, i: x.scatter(1, i.expand(4, 3), 1.0),
                         lambda x, i: F.one_hot(i, 7), lambda x, i: F.nll_loss(x[:3], i),
                         lambda x, i: F.cross_entropy(x[:3], i),
                         lambda x, i: F.cross_entropy(x[:3], i, reduction="none", label_smoothing=0.1)):
            assert_same_layout(function, x, index)
        with pytest.raises(IndexError):
            x.to("meta")[4]
        with pytest.raises(RuntimeError, match="same device"):
            x[index.to("meta")]

    @pytest.mark.parametrize("options", [
        {}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": "same"}, {"groups": 2, "padding": (2, 0)}], ids=str)
    def test_convolution_and_its_gradients(self, options):
        def function(x, weight, bias):
            leaves = [t.detach().requires_grad_() for t in (x, weight, bias)]
            y = F.conv2d(*leaves, **options)
            return y.detach(), *lucid.autograd.grad((y * y).sum(), leaves)

        groups = options.get("groups", 1)
        assert_same_layout(function, lucid.rand(2, 4, 9, 8), lucid.rand(6, 4 // groups, 3, 3), lucid.rand(6))

    @pytest.mark.parametrize("pool", [
        lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True), lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.adaptive_max_pool2d(x, (3, 2)), lambda x: F.max_pool2d(x, 3, dilation=2)])
    def test_pooling_and_its_gradient(self, pool):
        def function(x):
            leaf = x.detach().requires_grad_()
            y = pool(leaf)
            return y.detach(), *lucid.autograd.grad(y.sum(), [leaf])

        assert_same_layout(function, lucid.rand(2, 3, 9, 8))

    def test_in_place_operations_change_nothing_but_the_version(self):
        x = meta(2, 3)
        version = x._version
        x.add_(1).mul_(meta(3)).zero_().fill_(2).normal_()
        x[0] = 5
        x[x > 0] = 1
        assert x._version > version
        assert layout(x) == layout(meta(2, 3))
        with pytest.raises(RuntimeError, match="broadcast shape"):
            x.add_(meta(4, 2, 3))
        with pytest.raises(RuntimeError, match="can't be cast"):
            meta(2, dtype=lucid.int64).add_(1.5)

    @pytest.mark.parametrize("function", [
        lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.masked_select(x > 0), lambda x: lucid.where(x > 0)])
    def test_shapes_that_depend_on_elements(self, function):
        with pytest.raises(NotImplementedError, match="depends on elements"):
            function(meta(2, 3))

    @pytest.mark.parametrize("function", [
        lambda a, b: a + b, lambda a, b: b + a, lambda a, b: a @ b.t(), lambda a, b: b @ a.t(), lambda a, b: lucid.cat([a, b]),
        lambda a, b: lucid.cat([b, a]), lambda a, b: a == b, lambda a, b: F.linear(a, b), lambda a, b: F.linear(b, a),
        lambda a, b: lucid.where(a > 0, b, b), lambda a, b: lucid.where(b > 0, a, 1.0), lambda a, b: b.add_(a),
        lambda a, b: a.mul_(b),
        lambda a, b: F.layer_norm(a, (3,), b[0]), lambda a, b: F.layer_norm(b, (3,), a[0]), lambda a, b: lucid.stack([b, a]),
        lambda a, b: a + b.double(), lambda a, b: F.mse_loss(a, b),
        lambda a, b: b.index_add(0, lucid.tensor([0, 1]).to(b.device), a),
    ])
    def test_mixed_devices(self, function, device):
        with pytest.raises(RuntimeError, match=r"same device.*meta.*to_empty"):
            function(lucid.ones(2, 3, device=device), meta(2, 3))

    def test_0d_tensors_on_the_cpu_join(self):
        assert (meta(2) + lucid.tensor(1.0)).is_meta
        assert (lucid.tensor(1.0) * meta(2)).is_meta
        assert (lucid.tensor(1.0) * meta()).is_meta

    def test_shapes_that_do_not_fit(self):
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            meta(2, 3) + meta(4)
        with pytest.raises(RuntimeError):
            meta(2, 3) @ meta(2, 3)
        with pytest.raises(RuntimeError):
            lucid.cat([meta(2, 3), meta(3, 2)])
        with pytest.raises(RuntimeError, match="invalid for input of size"):
            meta(2, 3).reshape(4)

    def test_no_random_numbers_are_taken(self):
        state = lucid.get_rng_state()
        lucid.rand(3, device="meta")
        lucid.randperm(3, device="meta")
        F.dropout(meta(3))
        lucid.nn.Linear(3, 4, device="meta")
        assert lucid.get_rng_state().tolist() == state.tolist()

    def test_creation(self, device):
        for make in (lambda **d: lucid.arange(2, 11, 3, **d), lambda **d: lucid.arange(0, 1, 0.1, **d),
                     lambda **d: lucid.linspace(0, 1, 5, **d), lambda **d: lucid.eye(3, 4, **d),
                     lambda **d: lucid.ones(2, 0, **d),
                     lambda **d: lucid.full((2,), 3, **d), lambda **d: lucid.randint(5, (2, 3), **d),
                     lambda **d: lucid.tensor([[1, 2]], **d), lambda **d: lucid.randperm(4, **d),
                     lambda **d: lucid.randn(2, dtype=lucid.bfloat16, **d)):
            assert layout(make(device="meta")) == layout(make(device=device))


class TestDeviceAsContext:
    def test_it_sets_the_default_device(self, device):
        with lucid.device(device) as entered:
            assert entered == device
            assert lucid.get_default_device() == device
            assert lucid.zeros(2).device == device
            with lucid.device("meta"):
                assert lucid.tensor([1.0]).is_meta
                assert lucid.nn.Linear(2, 3).weight.is_meta
                assert lucid.ones(2, device=device).device == device
            assert lucid.rand(2).device == device
        assert lucid.ones(2).device == "cpu"

    def test_one_object_may_be_entered_twice(self):
        device = lucid.device("meta")
        with device, lucid.device("cpu"), device:
            assert lucid.ones(1).is_meta
        assert not lucid.ones(1).is_meta

    def test_it_ends_with_an_error(self):
        with pytest.raises(KeyError), lucid.device("meta"):
            raise KeyError
        assert lucid.get_default_device() == "cpu"

    def test_arrays_and_tensors_follow_a_chosen_default(self, device):
        array, tensor = np.ones(2), lucid.ones(2, device="cpu")
        with lucid.device(device):
            for made in (lucid.tensor(array), lucid.as_tensor(array), lucid.tensor(tensor), lucid.as_tensor(tensor)):
                assert made.device == device
            assert lucid.from_numpy(array).device == "cpu"
            assert lucid.ones_like(tensor).device == "cpu"
        there = lucid.ones(2, device=device)
        assert lucid.tensor(there).device == lucid.as_tensor(there).device == device
