"""Generators: where random numbers come from.

Samples are counter based (Philox): element i of a result depends on (seed, offset, i) only. A generator hands out
ranges of counters, the same on every device, so that a seed gives the same samples on a CPU and on a GPU.
"""
from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from typing import Any

import numpy as np
from lucid_kernels.cpu.runtime import fork

from . import _clock as clock
from . import _recording
from .backends import Device
from .tensor import Tensor, wrap

_MASK = (1 << 64) - 1


#: The graph that is being captured in this context: it gives draws of kernels on a GPU, new ones at each replay.
capture: ContextVar[Any] = ContextVar("lucid_graph_capture", default=None)
_captures = 0  # that are under way, in all threads


def count_captures(change: int) -> None:
    """One capture more (1) or less (-1)."""
    global _captures
    _captures += change


class Generator:
    """A source of random numbers: a seed and the number of counter blocks taken so far. Safe to share between threads.

    `device` is only remembered: a generator is for tensors on every device.

    >>> generator = lucid.Generator().manual_seed(1)
    >>> a = lucid.rand(2, generator=generator)
    >>> lucid.equal(lucid.rand(2, generator=generator.manual_seed(1)), a)
    True
    """

    def __init__(self, device: str | Device = "cpu") -> None:
        self.device: Device = Device(device)
        self._lock = threading.Lock()
        self._seed = int.from_bytes(os.urandom(8), "little") >> 1
        self._offset = 0

    def take(self, blocks: int, on_gpu: bool = False) -> tuple[int, int]:
        """Take `blocks` blocks of four 32-bit words; returns (seed, offset) for a kernel, which runs on a GPU or not.

        >>> generator = lucid.Generator().manual_seed(1)
        >>> first, second = generator.take(4), generator.take(4)
        >>> first == second
        False
        """
        if on_gpu and _captures:
            graph = capture.get()
            if graph is not None:
                drawn: tuple[int, int] = graph.take(self, blocks)
                return drawn
        if clock.levels:  # inside of `vmap` every example may draw its own numbers
            from .levels.lifted import draws

            blocks *= draws()
        with self._lock:
            offset = self._offset
            self._offset = (offset + blocks) & _MASK
            seed = self._seed
        if _recording.under_way:
            recorder = _recording.current()
            if recorder is not None:
                recorder.took(self, blocks, seed, offset)
        return seed, offset

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, an integer; negative ones count as 64-bit two's complement.

        >>> generator = lucid.Generator().manual_seed(5)
        >>> a = lucid.rand(2, generator=generator)
        >>> lucid.equal(lucid.rand(2, generator=generator.manual_seed(5)), a)
        True
        """
        seed = int(seed)
        if not -(1 << 63) <= seed <= _MASK:
            raise ValueError("Overflow when unpacking long long")
        _refuse_recording()
        with self._lock:
            self._seed, self._offset = seed & _MASK, 0
        return self

    def seed(self) -> int:
        """Start again from a seed of the operating system's randomness, and return it.

        >>> generator = lucid.Generator()
        >>> generator.seed() == generator.initial_seed()
        True
        """
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the generator was started with.

        >>> lucid.Generator().manual_seed(5).initial_seed()
        5
        """
        return self._seed

    @property
    def position(self) -> tuple[int, int]:
        """The seed, and how many blocks have been taken.

        >>> generator = lucid.Generator().manual_seed(5)
        >>> before = generator.position
        >>> _ = lucid.rand(2, generator=generator)
        >>> generator.position == before
        False
        """
        with self._lock:
            return self._seed, self._offset

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor of 16 bytes: seed and offset, little-endian.

        >>> generator = lucid.Generator().manual_seed(1)
        >>> state = generator.get_state()
        >>> a = lucid.rand(2, generator=generator)
        >>> _ = generator.set_state(state)
        >>> lucid.equal(lucid.rand(2, generator=generator), a)
        True
        """
        seed, offset = self.position
        recorder = _recording.current()
        if recorder is not None:
            recorder.looked(self, seed, offset)
        state = np.array([seed, offset], "<u8")
        return wrap(state.view(np.uint8))

    def set_state(self, new_state: Tensor) -> None:
        """Continue from a state of `get_state`. Raises TypeError or RuntimeError for what is none.

        >>> generator = lucid.Generator().manual_seed(1)
        >>> state = generator.get_state()
        >>> a = lucid.rand(2, generator=generator)
        >>> _ = generator.set_state(state)
        >>> lucid.equal(lucid.rand(2, generator=generator), a)
        True
        """
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError("expected a uint8 tensor as the state of a generator")
        if new_state.shape != (16,):
            raise RuntimeError(f"the state of a generator has 16 bytes, not {new_state.numel()}")
        recorder = _recording.current()
        array = new_state.numpy(force=True) if recorder is None else new_state._array
        seed, offset = np.frombuffer(array.tobytes(), "<u8").tolist()
        if recorder is not None:
            recorder.put_back(self, seed, offset)
        with self._lock:
            self._seed, self._offset = seed, offset

    def clone_state(self) -> Generator:
        """A new generator that continues from the same state.

        >>> a = lucid.Generator().manual_seed(1)
        >>> b = a.clone_state()
        >>> lucid.equal(lucid.rand(2, generator=a), lucid.rand(2, generator=b))
        True
        """
        clone = Generator(self.device)
        clone.set_state(self.get_state())
        return clone

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"device": str(self.device), "seed": self._seed, "offset": self._offset}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["device"])  # type: ignore[misc]
        self._seed, self._offset = state["seed"], state["offset"]


def _refuse_recording() -> None:
    recorder = _recording.current()
    if recorder is not None:
        recorder.refuse("it seeds a generator")


default_generator = Generator()
fork.hold(default_generator._lock)


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, which is for all devices, and return it.

    >>> _ = lucid.manual_seed(3)
    >>> a = lucid.rand(2)
    >>> _ = lucid.manual_seed(3)
    >>> lucid.equal(lucid.rand(2), a)
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system's randomness; returns the seed.

    >>> lucid.seed() == lucid.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> lucid.manual_seed(5).initial_seed()
    5
    >>> lucid.initial_seed()
    5
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator.

    >>> state = lucid.get_rng_state()
    >>> a = lucid.rand(2)
    >>> lucid.set_rng_state(state)
    >>> lucid.equal(lucid.rand(2), a)
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default generator from a state of `get_rng_state`.

    >>> state = lucid.get_rng_state()
    >>> a = lucid.rand(2)
    >>> lucid.set_rng_state(state)
    >>> lucid.equal(lucid.rand(2), a)
    True
    """
    default_generator.set_state(new_state)
