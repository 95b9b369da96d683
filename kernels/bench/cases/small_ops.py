"""What user code is made of: common functions and methods on small arrays, of which Python is most of the cost.

Each operation on 8, 1,000 and 20,000 elements in float32 and float64, alone and, where it has one, with its gradient. They
shall take 0.8 of PyTorch's time in the geometric mean, and none more than 1.3 of it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.case import Case, Side
from bench.library import Library, target

BRIEF = True
TARGET = 1.3
#: The elements of a case, as a matrix.
SHAPES = {8: (2, 4), 1000: (20, 50), 20_000: (100, 200)}

Row = Callable[[Any], Any]

#: Operations with a gradient, of what `_operands` makes: `x` and `y` are vectors, `m` and `n` matrices, which require it.
DIFFERENTIABLE: dict[str, Row] = {
    "x + y": lambda v: v.x + v.y,
    "x * 2": lambda v: v.x * 2,
    "1 - x": lambda v: 1 - v.x,
    "x / y": lambda v: v.x / v.y,
    "x ** 2": lambda v: v.x ** 2,
    "-x": lambda v: -v.x,
    "m + row": lambda v: v.m + v.row,
    "m * column": lambda v: v.m * v.column,
    "maximum": lambda v: v.lib.maximum(v.x, v.y),
    "exp": lambda v: v.lib.exp(v.x),
    "log": lambda v: v.x.log(),
    "sqrt": lambda v: v.x.sqrt(),
    "abs": lambda v: v.x.abs(),
    "sin": lambda v: v.lib.sin(v.x),
    "tanh": lambda v: v.lib.tanh(v.x),
    "sigmoid": lambda v: v.x.sigmoid(),
    "relu": lambda v: v.F.relu(v.x),
    "gelu": lambda v: v.F.gelu(v.x),
    "elu": lambda v: v.F.elu(v.x),
    "softplus": lambda v: v.F.softplus(v.x),
    "leaky_relu": lambda v: v.F.leaky_relu(v.x, 0.2),
    "clamp": lambda v: v.x.clamp(0.2, 0.8),
    "where": lambda v: v.lib.where(v.mask, v.x, v.y),
    "masked_fill": lambda v: v.x.masked_fill(v.mask, 0.0),
    "lerp": lambda v: v.lib.lerp(v.x, v.y, 0.1),
    "addcmul": lambda v: v.lib.addcmul(v.x, v.x, v.y, value=0.5),
    "m[i]": lambda v: v.m[1],
    "m[:, i]": lambda v: v.m[:, 1],
    "m[i:j]": lambda v: v.m[1:2],
    "m[..., None]": lambda v: v.m[..., None],
    "m[index]": lambda v: v.m[v.index],
    "m[arange, index]": lambda v: v.m[v.rows, v.labels],
    "x[mask]": lambda v: v.x[v.mask],
    "cat": lambda v: v.lib.cat([v.m, v.n], 1),
    "stack": lambda v: v.lib.stack([v.x, v.y]),
    "chunk": lambda v: v.m.chunk(2, 1)[0],
    "split": lambda v: v.lib.split(v.m, 1)[0],
    "unsqueeze": lambda v: v.x.unsqueeze(0),
    "squeeze": lambda v: v.m[:1].squeeze(0),
    "view": lambda v: v.m.view(-1),
    "reshape": lambda v: v.m.reshape(-1),
    "permute": lambda v: v.m.permute(1, 0),
    "transpose": lambda v: v.m.transpose(0, 1),
    "m.T.contiguous": lambda v: v.m.T.contiguous(),
    "flatten": lambda v: v.m.flatten(),
    "expand": lambda v: v.x.unsqueeze(0).expand(3, -1),
    "repeat": lambda v: v.x.repeat(2),
    "roll": lambda v: v.lib.roll(v.x, 1),
    "flip": lambda v: v.lib.flip(v.x, (0,)),
    "gather": lambda v: v.m.gather(1, v.labels[:, None]),
    "index_select": lambda v: v.m.index_select(0, v.index),
    "sum": lambda v: v.x.sum(),
    "sum(dim)": lambda v: v.m.sum(1),
    "mean": lambda v: v.x.mean(),
    "mean(dim)": lambda v: v.m.mean(-1, keepdim=True),
    "var": lambda v: v.m.var(1),
    "max": lambda v: v.x.max(),
    "max(dim)": lambda v: v.m.max(1)[0],
    "norm": lambda v: v.x.norm(),
    "logsumexp": lambda v: v.lib.logsumexp(v.m, 1),
    "cumsum": lambda v: v.x.cumsum(0),
    "softmax": lambda v: v.F.softmax(v.m, dim=-1),
    "log_softmax": lambda v: v.F.log_softmax(v.m, dim=-1),
    "layer_norm": lambda v: v.F.layer_norm(v.m, v.m.shape[1:]),
    "linear": lambda v: v.F.linear(v.m, v.weight, v.bias),
    "m @ m.T": lambda v: v.m @ v.n.T,
    "m @ row": lambda v: v.m @ v.row,
    "dot": lambda v: v.x.dot(v.y),
    "bmm": lambda v: v.lib.bmm(v.m[None], v.n.T[None]),
    "einsum": lambda v: v.lib.einsum("ij,kj->ik", v.m, v.n),
    "mse_loss": lambda v: v.F.mse_loss(v.x, v.y),
    "cross_entropy": lambda v: v.F.cross_entropy(v.m, v.labels),
    "nll_loss": lambda v: v.F.nll_loss(v.m, v.labels),
    "binary_cross_entropy_with_logits": lambda v: v.F.binary_cross_entropy_with_logits(v.x, v.target),
    "smooth_l1_loss": lambda v: v.F.smooth_l1_loss(v.x, v.y),
    "normal log_prob": lambda v: -((v.x - v.y) ** 2) / 2 - 0.9189385,
    "nn.Linear": lambda v: v.layer(v.m),
    "nn.Sequential": lambda v: v.sequence(v.m),
    "LSTMCell": lambda v: v.lstm(v.m, v.state)[0],
    "GRUCell": lambda v: v.gru(v.m, v.state[0]),
}
#: Those without one; what they write to is `w`, a vector.
CONSTANT: dict[str, Row] = {
    "x > y": lambda v: v.w > v.z,
    "x == 0": lambda v: v.w == 0,
    "logical_and": lambda v: v.mask & v.mask,
    "argmax": lambda v: v.k.argmax(1),
    "topk": lambda v: v.k.topk(2),
    "any": lambda v: v.mask.any(),
    "item": lambda v: v.number.item(),
    "float": lambda v: float(v.number),
    "shape": lambda v: v.w.shape,
    "size": lambda v: v.k.size(0),
    "detach": lambda v: v.x.detach(),
    "clone": lambda v: v.w.clone(),
    "to(dtype)": lambda v: v.w.to(v.lib.int64),
    "float()": lambda v: v.mask.float(),
    "zeros": lambda v: v.lib.zeros(v.w.shape),
    "zeros_like": lambda v: v.lib.zeros_like(v.w),
    "ones": lambda v: v.lib.ones(v.size),
    "full": lambda v: v.lib.full((v.size,), 0.5),
    "arange": lambda v: v.lib.arange(v.size),
    "randn": lambda v: v.lib.randn(v.size),
    "tensor": lambda v: v.lib.tensor([1.0, 2.0, 3.0]),
    "eye": lambda v: v.lib.eye(v.k.shape[0]),
    "add_": lambda v: v.w.add_(v.z),
    "add_ alpha": lambda v: v.w.add_(v.z, alpha=0.1),
    "mul_": lambda v: v.w.mul_(1.0),
    "x += 1": lambda v: v.w.__iadd__(1),
    "addcmul_": lambda v: v.w.addcmul_(v.z, v.z, value=0.1),
    "lerp_": lambda v: v.w.lerp_(v.z, 0.1),
    "copy_": lambda v: v.w.copy_(v.z),
    "zero_": lambda v: v.w.zero_(),
    "fill_": lambda v: v.w.fill_(1.0),
    "clamp_": lambda v: v.w.clamp_(0, 1),
    "m[0] = 1": lambda v: v.k.__setitem__(0, 1.0),
    "m[:, 0] = row": lambda v: v.k.__setitem__((slice(None), 0), v.k[:, 1]),
    "add out": lambda v: v.lib.add(v.z, v.z, out=v.w),
    "mul out": lambda v: v.lib.mul(v.z, v.z, out=v.w),
    "exp out": lambda v: v.lib.exp(v.z, out=v.w),
    "sum out": lambda v: v.lib.sum(v.k, 1, out=v.column_out),
    "matmul out": lambda v: v.lib.matmul(v.k, v.k.T, out=v.square),
    "no_grad": lambda v: _without_gradient(v),
    "zero_grad": lambda v: v.sequence.zero_grad(),
}


def cases(side: Side) -> Iterator[Case]:
    """Each operation, in both dtypes at each size."""
    for name, row in {**DIFFERENTIABLE, **CONSTANT}.items():
        for size, dtype in itertools.product(list(SHAPES)[:1] if side.quick else SHAPES, (np.float32, np.float64)):
            label = f"{name} {size} {np.dtype(dtype).name}"
            yield target(side, label, TARGET, functools.partial(_forward, row=row, size=size, dtype=dtype))
            if name in DIFFERENTIABLE:
                yield target(side, f"{label} +", TARGET, functools.partial(_both, row=row, size=size, dtype=dtype))


def _forward(library: Library, row: Row, size: int, dtype: Any) -> Callable[[], Any]:
    operands = _operands(library, size, dtype, False)
    return lambda: row(operands)


def _both(library: Library, row: Row, size: int, dtype: Any) -> Callable[[], Any]:
    operands = _operands(library, size, dtype, True)
    result = row(operands)
    g = library.lib.ones_like(result.detach())
    result.backward(g)
    leaves = [leaf for leaf in operands.leaves if leaf.grad is not None]

    def call() -> None:
        for leaf in leaves:
            leaf.grad = None
        row(operands).backward(g)

    return call


def _without_gradient(v: Any) -> Any:
    with v.lib.no_grad():
        return v.x + v.y


def _operands(library: Library, size: int, dtype: Any, grad: bool) -> SimpleNamespace:
    """The tensors and modules of the rows, the same in both libraries."""
    random, (rows, columns) = np.random.default_rng(0), SHAPES[size]
    kind = getattr(library.lib, np.dtype(dtype).name)

    def values(*shape: int, grad: bool = False) -> Any:
        return library.tensor(random.random(shape).astype(dtype) * 0.9 + 0.05, grad)

    def integers(high: int, count: int) -> Any:
        return library.tensor(random.integers(0, high, count))

    nn = library.nn
    modules = (nn.Linear(columns, 16), nn.Sequential(nn.Linear(columns, 16), nn.ReLU(), nn.Linear(16, 1)),
               nn.LSTMCell(columns, 16), nn.GRUCell(columns, 16))
    layer, sequence, lstm, gru = [module.to(kind).requires_grad_(grad) for module in modules]
    leaves = {"x": (size,), "y": (size,), "m": (rows, columns), "n": (rows, columns), "row": (columns,), "column": (rows, 1),
              "weight": (16, columns), "bias": (16,)}
    made = {name: values(*shape, grad=grad) for name, shape in leaves.items()}
    parameters = [parameter for module in (layer, sequence, lstm, gru) for parameter in module.parameters()]
    return SimpleNamespace(
        **made, leaves=[*made.values(), *parameters], lib=library.lib, F=library.F, size=size,
        w=values(size), z=values(size), k=values(rows, columns), column_out=values(rows), square=values(rows, rows),
        number=values(1), target=values(size), mask=library.tensor(random.random(size) < 0.5), rows=library.lib.arange(rows),
        labels=integers(columns, rows), index=integers(rows, rows), layer=layer, sequence=sequence, lstm=lstm, gru=gru,
        state=(values(rows, 16), values(rows, 16)))
