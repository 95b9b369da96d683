"""Arrays in memory that several processes share, and pickles that carry them to another process by handle.

The memory is a file without a name, in RAM, that goes away with its last user: the "file_descriptor" strategy of
`torch.multiprocessing`. Python's own pickler of messages between processes (`multiprocessing.reduction.ForkingPickler`: arguments
of a process, queues, pipes) sends the descriptor; every other pickle holds the elements.
"""
from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from .memory_format import in_memory_order
from .pickling import Shared
from .storage import Part, bits_of, owner, part, take


class Block(mmap.mmap):
    """A piece of shared memory. It closes its descriptor when the last array over it is gone."""

    descriptor: int

    @classmethod
    def over(cls, descriptor: int) -> Block:
        """The memory that `descriptor`, which the block takes over, stands for."""
        block = cls(descriptor, os.fstat(descriptor).st_size)
        block.descriptor = descriptor
        return block

    @classmethod
    def new(cls, size: int) -> Block:
        """Shared memory of `size` bytes, zeros. Raises OSError if there is no room."""
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("lucid", os.MFD_CLOEXEC)
        else:
            import tempfile  # 5 ms of the time of `import lucid` otherwise

            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        try:
            os.truncate(descriptor, size)
            return cls.over(descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)
            del self.descriptor


def share(array: np.ndarray) -> np.ndarray:
    """`array` if it is in shared memory, else a copy there with the same layout."""
    if block_of(array) is not None:
        return array
    _register()

    def copied(original: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.ndarray(original.shape, original.dtype, Block.new(max(original.nbytes, 1)))
        result[...] = original
        return result

    return in_memory_order(array, copied)


def block_of(array: Any) -> Block | None:
    """The shared memory that `array` lies in, if it does."""
    base = bits_of(array)
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Block) else None


def _register() -> None:
    """Teach Python's pickler between processes to send handles; importing `multiprocessing` takes time that others need not."""
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(Shared, _reduce_shared)
    ForkingPickler.register(Block, _reduce_block)


def _reduce_shared(shared: Shared) -> tuple[Any, ...]:
    block = block_of(shared.array)
    if block is None:
        return shared.__reduce__()
    whole = owner(shared.array)
    return _attach, (block, whole.shape, whole.strides, whole.dtype, part(whole, shared.array))


def _reduce_block(block: Block) -> tuple[Any, ...]:
    from multiprocessing.reduction import DupFd

    return _received, (DupFd(block.descriptor),)


def _attach(block: Block, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, place: Part | None) -> Shared:
    whole: np.ndarray = np.ndarray(shape, dtype, block, 0, strides)
    return Shared(take(whole, place))


def _received(handle: Any) -> Block:
    _register()
    return Block.over(handle.detach())
