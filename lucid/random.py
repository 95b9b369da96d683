"""Random numbers under the names of `torch.random`, and under those of lucid 2.x: the state, and tensors on any device.

>>> _ = lucid.random.manual_seed(3)
>>> a = lucid.rand(2)
>>> _ = lucid.random.manual_seed(3)
>>> lucid.equal(lucid.rand(2), a)
True
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from . import _random
from ._random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, set_rng_state
from .ops.creation.creation import empty, tensor
from .ops.random import random as _ops
from .ops.random import sampling as _sampling
from .tensor import Tensor

__all__ = ["Generator", "bernoulli", "default_generator", "fork_rng", "get_rng_state", "get_seed", "initial_seed", "manual_seed",
           "permutation", "rand", "randint", "randn", "seed", "set_rng_state", "uniform"]


@contextlib.contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str | None = None) -> Iterator[None]:
    """The context in which random numbers may be drawn that leave no trace: the state before it is put back.

    One generator is for all devices, so `devices` and `device_type` do not matter.

    >>> with lucid.random.fork_rng():
    ...     a = lucid.rand(2)
    >>> lucid.equal(lucid.rand(2), a)
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def seed(seed: int | None = None) -> int:
    """Seed the default generator by `seed`, as in lucid 2.x, or from the operating system's randomness; returns the seed.

    >>> lucid.random.seed(5)
    5
    """
    return _random.seed() if seed is None else manual_seed(seed).initial_seed()


def get_seed() -> int:
    """The seed of the default generator.

    >>> seed = lucid.random.seed(5)
    >>> lucid.random.get_seed()
    5
    """
    return initial_seed()


def _made(result: Tensor, requires_grad: bool) -> Tensor:
    return result.requires_grad_() if requires_grad else result


def rand(*shape: Any, requires_grad: bool = False, keep_grad: bool = False, device: Any = "cpu") -> Tensor:
    """Samples from the uniform distribution on [0, 1). Gradients of leaves are always kept, whatever `keep_grad`.

    >>> lucid.random.rand(2, 3).shape
    lucid.Size([2, 3])
    """
    return _ops.rand(*shape, requires_grad=requires_grad, device=device)


def randn(*shape: Any, requires_grad: bool = False, keep_grad: bool = False, device: Any = "cpu") -> Tensor:
    """Samples from the standard normal distribution.

    >>> lucid.random.randn(2, 3).shape
    lucid.Size([2, 3])
    """
    return _ops.randn(*shape, requires_grad=requires_grad, device=device)


def randint(low: int, high: int | None = None, size: Any = 1, requires_grad: bool = False, keep_grad: bool = False,
            device: Any = "cpu") -> Tensor:
    """Integers from [low, high), or from [0, low) without `high`. Integers cannot require grad: RuntimeError.

    >>> lucid.random.randint(3, 6, size=100).unique()
    Tensor([3, 4, 5], requires_grad=False)
    """
    low, high = (0, low) if high is None else (low, high)
    return _ops.randint(low, high, _shape(size), device=device, requires_grad=requires_grad)


def uniform(low: Any = 0, high: Any = 1, size: Any = 1, requires_grad: bool = False, keep_grad: bool = False,
            device: Any = "cpu") -> Tensor:
    """Samples from the uniform distribution on [low, high).

    >>> x = lucid.random.uniform(2, 3, size=100)
    >>> bool((x >= 2).all()), bool((x < 3).all())
    (True, True)
    """
    return _made(empty(_shape(size), device=device).uniform_(low, high), requires_grad)


def bernoulli(probs: Any, requires_grad: bool = False, keep_grad: bool = False, device: Any = "cpu") -> Tensor:
    """1 with the probabilities `probs` (a tensor, an array or a number), else 0. Raises RuntimeError outside [0, 1].

    >>> lucid.random.bernoulli(lucid.tensor([0.0, 1.0]))
    Tensor([0.0, 1.0], requires_grad=False)
    """
    chances = probs.to(device) if isinstance(probs, Tensor) else tensor(probs, device=device)
    return _made(_sampling.bernoulli(chances if chances.is_floating_point() else chances.float()), requires_grad)


def permutation(n: int, dtype: Any = int, requires_grad: bool = False, keep_grad: bool = False, device: Any = "cpu") -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    >>> lucid.random.permutation(4).sort().values
    Tensor([0, 1, 2, 3], requires_grad=False)
    """
    return _ops.randperm(n, dtype=dtype, device=device, requires_grad=requires_grad)


def _shape(size: Any) -> tuple[int, ...]:
    return (size,) if isinstance(size, int) else tuple(size)
