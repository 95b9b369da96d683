"""Random programs of views, in-place writes and indexing: the same values, gradients and exception classes as PyTorch."""
from __future__ import annotations

import random
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
