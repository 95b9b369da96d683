"""DataLoader: batches of a dataset, made here or in worker processes."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .. import backends
from .._random import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import EndOfStream, make_fetch
from .info import get_worker_info as get_worker_info
from .pin_memory import pin_memory as pin
from .sampler import BatchSampler, Forever, RandomSampler, SequentialSampler, random_seed

if TYPE_CHECKING:
    from .workers import WorkerIterator

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Iterates over batches of `dataset`, as `torch.utils.data.DataLoader`.

    `batch_size=None` yields single samples. `shuffle` draws a new order each epoch, from `generator` if given, or else from
    the default one; the order does not depend on `num_workers`. `sampler` gives the indices, or `batch_sampler` lists of
    them. `collate_fn` makes a batch of a list of samples. With `pin_memory` the tensors of a batch are in pinned memory, from
    which ``.to('gpu', non_blocking=True)`` copies while the host goes on; without a GPU it warns, and changes nothing.
    `pin_memory_device` and `in_order` are accepted: there is one kind of GPU, and batches are always in order.

    With `num_workers` the batches are made in that many processes, `prefetch_factor` (2) tasks ahead in each. They are not
    forks of this one (see `lucid.data.workers.default_context`): dataset and functions are pickled, and a script must keep
    the code that it runs under ``if __name__ == "__main__":``. They never touch a GPU: a dataset that holds GPU tensors is
    an error. An exception in a worker is raised here with its traceback. The processes end with the iterator, also when a
    loop is left early; `persistent_workers` keeps them for the next epoch. `timeout` is in seconds, 0 waits forever.

    Raises ValueError for options out of range and for combinations that exclude each other.

    >>> data = lucid.data.TensorDataset(lucid.arange(5), lucid.arange(5) * 10)
    >>> for x, y in lucid.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    Tensor([0, 1], requires_grad=False) Tensor([ 0, 10], requires_grad=False)
    Tensor([2, 3], requires_grad=False) Tensor([20, 30], requires_grad=False)
    Tensor([4], requires_grad=False) Tensor([40], requires_grad=False)
    """

    _starts_as_python = False  # whether workers start as `multiprocessing` starts processes

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable[Any] | None = None, batch_sampler: Iterable[Any] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: Any = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to "
                             "enable multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError("prefetch_factor option should be positive")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        datapipes = sys.modules.get("lucid.data.datapipes")  # imported by whoever has a pipe
        if datapipes is not None and isinstance(dataset, datapipes.pipes.IterDataPipe | datapipes.pipes.MapDataPipe):
            if shuffle is not None:
                datapipes.graph.apply_shuffle_settings(dataset, shuffle)
            if isinstance(dataset, IterableDataset):
                shuffle = None
        if isinstance(dataset, IterableDataset):
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                     f"{name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = Forever()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.drop_last = drop_last
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._workers: WorkerIterator | None = None
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_complete", False):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _index_sampler(self) -> Iterable[Any]:
        sampler = self.batch_sampler if self.batch_sampler is not None else self.sampler
        assert sampler is not None
        return sampler

    def __iter__(self) -> Iterator[Any]:
        # Drawn without workers too, so that the order of samples is the same with and without them.
        base_seed = random_seed(self.generator)
        if self.num_workers == 0:
            batches: Iterator[Any] = self._in_this_process()
        elif not self.persistent_workers:
            batches = self._start_workers(base_seed)
        elif self._workers is None or not self._workers.close.alive:
            batches = self._workers = self._start_workers(base_seed)
        else:
            self._workers.start_epoch(self._index_sampler)
            batches = self._workers
        if isinstance(self.dataset, IterableDataset):
            batches = self._counted(batches)
        return map(pin, batches) if self._pins() else batches

    def _pins(self) -> bool:
        if self.pin_memory and not backends.available():
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                          "used.", stacklevel=3)
            return False
        return self.pin_memory

    def _start_workers(self, base_seed: int) -> Any:
        from .workers import WorkerIterator  # as in _context

        return WorkerIterator(self, base_seed)

    def _in_this_process(self) -> Iterator[Any]:
        fetch = make_fetch(self.dataset, self.batch_sampler is not None, self.collate_fn, self.drop_last)
        for indices in self._index_sampler:
            try:
                batch = fetch(indices)
            except EndOfStream:
                return
            yield batch

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """`batches`, with a warning if an iterable dataset yields more than its `__len__` says."""
        try:
            expected: float = len(self)
        except (TypeError, NotImplementedError):
            expected = float("inf")
        for number, batch in enumerate(batches):
            if number == expected:
                hint = " Workers each yield the whole dataset unless it asks get_worker_info()." if self.num_workers else ""
                warnings.warn(f"Length of IterableDataset {self.dataset} was reported to be {expected} (batches), but more "
                              f"have been fetched.{hint}", stacklevel=2)
            yield batch

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)  # type: ignore[arg-type]
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


def _context(context: Any, num_workers: int) -> Any:
    """The multiprocessing context that is meant by a context, the name of a start method, or None."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                         f"num_workers={num_workers}")
    import multiprocessing  # loaded by those who use it

    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                             f"multiprocessing_context={context!r}")
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the start "
                        f"method, but got multiprocessing_context={context}")
    return context
