"""Seeds, by the names of torch.cuda. The default generator serves all devices: a seed gives the same samples on each."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _random
from ..tensor import Tensor
from ._device import device_count

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]


def manual_seed(seed: int) -> None:
    """`lucid.manual_seed`: on a GPU as on the CPU.

    >>> lucid.gpu.manual_seed(3)
    >>> a = lucid.rand(2, device="gpu")
    >>> lucid.gpu.manual_seed(3)
    >>> lucid.equal(lucid.rand(2, device="gpu"), a)
    True
    """
    _random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Start the default generator again from the operating system's randomness.

    >>> lucid.gpu.seed()
    >>> a = lucid.rand(8, device="gpu")
    >>> lucid.gpu.seed()
    >>> lucid.equal(lucid.rand(8, device="gpu"), a)
    False
    """
    _random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed that the default generator was started with.

    >>> lucid.gpu.initial_seed() == lucid.initial_seed()
    True
    """
    return _random.initial_seed()


def get_rng_state(device: Any = None) -> Tensor:
    """The state of the default generator, a uint8 tensor.

    >>> state = lucid.gpu.get_rng_state()
    >>> a = lucid.rand(2, device="gpu")
    >>> lucid.gpu.set_rng_state(state)
    >>> lucid.equal(lucid.rand(2, device="gpu"), a)
    True
    """
    return _random.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = None) -> None:
    """Set the state of the default generator to what `get_rng_state` returned.

    >>> state = lucid.gpu.get_rng_state()
    >>> a = lucid.rand(2, device="gpu")
    >>> lucid.gpu.set_rng_state(state)
    >>> lucid.equal(lucid.rand(2, device="gpu"), a)
    True
    """
    _random.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """`get_rng_state` for each GPU.

    >>> len(lucid.gpu.get_rng_state_all()) == lucid.gpu.device_count()
    True
    """
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """Set the state to that of the last GPU in `new_states`.

    >>> states = lucid.gpu.get_rng_state_all()
    >>> a = lucid.rand(2, device="gpu")
    >>> lucid.gpu.set_rng_state_all(states)
    >>> lucid.equal(lucid.rand(2, device="gpu"), a)
    True
    """
    for state in new_states:
        set_rng_state(state)
