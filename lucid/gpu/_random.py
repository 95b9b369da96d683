"""Seeds, by the names of torch.cuda. The default generator serves all devices: a seed gives the same samples on each."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _random
from ..tensor import Tensor
from ._device import device_count


def manual_seed(seed: int) -> None:
    """`lucid.manual_seed`: on a GPU as on the CPU."""
    _random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Start the default generator again from the operating system's randomness."""
    _random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed that the default generator was started with."""
    return _random.initial_seed()


def get_rng_state(device: Any = None) -> Tensor:
    """The state of the default generator, a uint8 tensor."""
    return _random.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = None) -> None:
    """Set the state of the default generator to what `get_rng_state` returned."""
    _random.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """`get_rng_state` for each GPU."""
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Sequence[Tensor]) -> None:
    """Set the state to that of the last GPU in `new_states`."""
    for state in new_states:
        set_rng_state(state)
