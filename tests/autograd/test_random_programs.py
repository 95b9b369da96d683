"""Random programs of views, in-place writes and indexing: the same values, gradients and exception classes as PyTorch."""
from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import lucid

# Each statement takes the library, a generator of choices and two tensors of shape (3, 4); it writes in place, or returns
# a new tensor of that shape.
STATEMENTS: dict[str, Any] = {
    "add": lambda t, r, x, y: x + y,
    "mul": lambda t, r, x, y: x * y * 0.5,
    "add_": lambda t, r, x, y: x.add_(y),
    "mul_": lambda t, r, x, y: x.mul_(y),
    "assign a row": lambda t, r, x, y: x.__setitem__(r.randrange(3), y[r.randrange(3)]),
    "write to a view": lambda t, r, x, y: x[:, 1:3].mul_(2),
    "exp": lambda t, r, x, y: (x * 0.1).exp(),
    "transpose": lambda t, r, x, y: x.t().reshape(3, 4),
    "cat": lambda t, r, x, y: t.cat([x[:1], y[1:]]),
    "sum": lambda t, r, x, y: x + y.sum(0, keepdim=True) * 0.1,
    "repeated index": lambda t, r, x, y: x[[2, 0, 0]],
    "assign elements": lambda t, r, x, y: x.__setitem__(([0, 2], [1, 3]), y[[1, 1], [0, 2]]),
    "where": lambda t, r, x, y: t.where(x > y, x, y * 2),
    "clamp": lambda t, r, x, y: x.clamp(-0.5, 0.5),
    "softmax": lambda t, r, x, y: t.softmax(x, 1),
    "matmul": lambda t, r, x, y: (x @ y.t()) @ y * 0.1,
    "detach": lambda t, r, x, y: x + y.detach(),
    "expand": lambda t, r, x, y: x[:1].expand(3, 4) + y,
    "maximum": lambda t, r, x, y: t.maximum(x, y),
    "masked_fill": lambda t, r, x, y: x.masked_fill(y > 0, 0.5),
    "copy_": lambda t, r, x, y: x.select(0, 1).copy_(y.select(0, 2)),
}

# Views of a tensor of shape (3, 4).
VIEWS: dict[str, Any] = {
    "select": lambda t, r, x: x.select(1, r.randrange(4)),
    "narrow": lambda t, r, x: x.narrow(0, r.randrange(2), 2),
    "diagonal": lambda t, r, x: x.diagonal(r.choice([-1, 0, 1])),
    "as_strided": lambda t, r, x: x.as_strided((2, 2), (4, 2), r.randrange(3)),
    "overlapping": lambda t, r, x: x.as_strided((2, 3), (1, 1)) * 1,  # what a write to shared elements leaves is arbitrary
    "unfold": lambda t, r, x: x.unfold(1, 2, 2),
    "windows": lambda t, r, x: x.unfold(0, 2, 1) * 1,
    # PyTorch refuses writes around views that come several at once: so copies of them.
    "unbind": lambda t, r, x: x.unbind(r.randrange(2))[r.randrange(3)] * 1,
    "split": lambda t, r, x: x.split(2, 1)[r.randrange(2)] * 1,
    "one part": lambda t, r, x: x.split(5)[0] * 1,
    "chunk": lambda t, r, x: x.chunk(2)[1] * 1,
    "permute": lambda t, r, x: x.permute(1, 0),
    "unflatten": lambda t, r, x: x.unflatten(1, (2, 2)),
    "view": lambda t, r, x: x.view(2, 6) if x.is_contiguous() else x.t(),
    "expand": lambda t, r, x: x[r.randrange(3):][:1].expand(2, 4) * 1,
    "squeeze": lambda t, r, x: x[:1].squeeze(0).unsqueeze(-1),
    "step": lambda t, r, x: x[::2, 1::2],
    "real": lambda t, r, x: x.real,
    "imag": lambda t, r, x: x.imag,
    "view_as_real": lambda t, r, x: t.view_as_real(x),
    "conj": lambda t, r, x: x.conj().real * 1,  # PyTorch's conj is a view
}
OF_COMPLEX = ("real", "imag", "view_as_real", "conj")


def _index(t: Any, r: random.Random, shape: tuple[int, ...]) -> Any:
    """A random index of a tensor of `shape`: numbers, slices, None, Ellipsis, vectors, masks and their mixtures."""
    entries: list[Any] = []
    vector = False
    for length in shape:
        kind = r.choice(["number", "slice", "vector", "mask", "all", "none"])
        if kind == "none":
            entries.append(None)
            kind = "slice"
        if kind == "number":
            entries.append(r.randrange(-length, length))
        elif kind == "slice":
            entries.append(slice(r.choice([None, 0, 1, -2]), r.choice([None, length, -1]), r.choice([None, 1, 2])))
        elif kind == "all":
            entries.append(Ellipsis)
            break
        elif vector:
            entries.append(r.randrange(length))  # two vectors would have to broadcast
        else:
            vector = True
            chosen = r.sample(range(length), 2)  # twice the same place: which value stays is arbitrary
            entries.append(t.tensor([i in chosen for i in range(length)]) if kind == "mask" else
                           t.tensor([chosen[0], chosen[1] - length]))
    return tuple(entries)


def _step(t: Any, r: random.Random, tensors: list[Any], views: list[Any]) -> None:
    """Take a view, or write to a tensor or a view in place, or make a tensor of a view."""
    kind = r.choice(["view", "view", "view of a view", "mul_", "add_", "copy_", "assign", "assign", "zero_", "use", "read"])
    target = r.choice(tensors + views)
    if kind == "view":
        x = r.choice(tensors)
        names = [name for name in VIEWS if name not in OF_COMPLEX or x.is_complex()]
        views.append(VIEWS[r.choice(names)](t, r, x))
    elif kind == "view of a view" and target.ndim:
        views.append(target[..., r.randrange(target.shape[-1])] if r.random() < 0.5 else target.transpose(0, -1))
    elif kind == "mul_":
        target.mul_(r.choice([t.tensor(1.5, dtype=target.dtype), target * 0.5]))
    elif kind == "add_":
        target.add_(r.choice(tensors).real.sum().to(target.dtype) * 0.1)
    elif kind == "copy_":
        target.copy_(r.choice(tensors).real.reshape(-1)[0].to(target.dtype) * 2)
    elif kind == "assign":
        index = _index(t, r, tuple(target.shape))
        target[index] = r.choice([0.5, r.choice(tensors).real.mean().to(target.dtype), target[index] * 2])
    elif kind == "zero_":
        target.zero_()
    elif kind == "read":
        views.append(target[_index(t, r, tuple(target.shape))])
    elif kind == "use":
        tensors.append((target * 1.0).sum() + tensors[0] * 0.5)


def run_views(library: Any, seed: int) -> list[Any]:
    """What program number `seed` of views and writes through them leaves: elements and gradients, or an exception's class."""
    choices = random.Random(seed)
    rng = np.random.default_rng(seed)
    leaves = [library.tensor(rng.standard_normal((3, 4)) + (1j * rng.standard_normal((3, 4)) if kind else 0)).requires_grad_()
              for kind in (0, 0, seed % 2)]
    tensors, views = [leaf * 1 for leaf in leaves], []
    try:
        for _ in range(choices.randint(3, 14)):
            _step(library, choices, tensors, views)
        loss = sum((tensor * tensor.conj()).real.sum() for tensor in tensors + views if tensor.numel())
        loss.backward()
    except (RuntimeError, IndexError, ValueError) as error:
        return [type(error)]
    grads = [np.zeros((3, 4)) if t.grad is None else t.grad.numpy() for t in leaves]
    return [t.detach().numpy().copy() for t in tensors + views] + grads


@pytest.mark.parametrize("block", range(10))
def test_random_views_and_writes_agree_with_pytorch(block: int) -> None:
    torch = pytest.importorskip("torch")
    for seed in range(40 * block, 40 * block + 40):
        compare_views(seed, torch)


def compare_views(seed: int, torch: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = run_views(lucid, seed), run_views(torch, seed)
    assert len(ours) == len(theirs), (seed, ours, theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, type):
            assert isinstance(a, type) and issubclass(a, b), (seed, a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12, err_msg=str(seed))


def run(library: Any, seed: int, **keywords: Any) -> list[Any]:
    """The loss and the gradients of the leaves of program number `seed`, or the class of its exception."""
    choices = random.Random(seed)
    arrays = np.random.default_rng(seed).standard_normal((3, 3, 4)).tolist()
    leaves = [library.tensor(a, dtype=library.float64, requires_grad=True, **keywords) for a in arrays]
    pool = [leaf * 1 for leaf in leaves]
    try:
        for _ in range(choices.randint(3, 12)):
            statement = STATEMENTS[choices.choice(list(STATEMENTS))]
            x, y = choices.choice(pool), choices.choice(pool)
            result = statement(library, choices, x, y)
            if result is not None and result.shape == x.shape and all(result is not tensor for tensor in pool):
                pool.append(result)
        loss = sum((tensor * tensor).sum() for tensor in pool)
        loss.backward()
    except RuntimeError:
        return [RuntimeError]
    return [loss.item(), *[None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]]


@pytest.mark.torch
@pytest.mark.parametrize("block", range(10))
def test_random_programs_agree_with_pytorch(block: int, device: str) -> None:
    torch = pytest.importorskip("torch")
    failures = 0
    for seed in range(40 * block, 40 * block + (40 if device == "cpu" else 5)):
        ours, theirs = run(lucid, seed, device=device), run(torch, seed)
        failures += ours == [RuntimeError]
        assert len(ours) == len(theirs), (seed, ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            if a is RuntimeError or a is None:
                assert a is b, (seed, ours, theirs)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-8, err_msg=str(seed))
    if device == "cpu":
        assert 0 < failures < 40  # programs of both kinds: some write over what a gradient needs
