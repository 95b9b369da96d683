"""A worker process of a DataLoader: takes tasks from a pipe, sends back batches on the CPU."""
from __future__ import annotations

import io
import os
import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes
from .._random import manual_seed
from ..backends import gpu_probe, set_default_device
from ..backends.threads import set_num_threads
from ..tensor import Tensor
from .fetch import EndOfStream, Fetch, make_fetch
from .info import WorkerInfo, set_worker_info

NO_GPU = ("the workers of a DataLoader must not touch a GPU: let the dataset return CPU tensors, and move each batch in the "
          "main process with .to(device)")


NOT_IMPORTABLE = ("Workers are new processes: they import modules, but have nothing of what was defined in a notebook, in an "
                  "interactive session, in `python -c` or on standard input. Put the dataset, collate_fn and worker_init_fn into "
                  "a module, that is a file that you import, or use multiprocessing_context='fork' or num_workers=0")


class Task(NamedTuple):
    """Fetch a batch; a task of a new `epoch` starts an IterableDataset from its beginning."""

    epoch: int
    number: int
    indices: bytes  # pickled: what cannot be unpickled is an error of this task, not of the pipe


class Finished(NamedTuple):
    """The iterable dataset of this worker has come to its end."""


class Failure(NamedTuple):
    """An exception in a worker."""

    kind: bytes | None  # the pickled class, None if it cannot be pickled
    name: str
    text: str

    def raise_again(self) -> None:
        """Raise an exception of the same class, or RuntimeError where that cannot be, with the worker's traceback."""
        error: Exception = RuntimeError(self.text)
        try:
            kind = None if self.kind is None else pickle.loads(self.kind)
            if kind is KeyError:
                error = KeyError(_Verbatim(self.text))
            elif kind is not None and not issubclass(kind, StopIteration):  # which would end the loop over the batches
                error = kind(self.text)
        except Exception:  # classes with other arguments, or importable in the worker only
            error = RuntimeError(self.text)
        try:
            raise error
        finally:
            del error  # its traceback holds this frame: a cycle that would keep the iterator and its processes alive


class _Verbatim(str):
    """A message that KeyError prints as it is, with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Job(NamedTuple):
    """All that a worker needs, pickled by `HostPickler`."""

    dataset: Any
    batched: bool
    collate: Any
    drop_last: bool
    init: Callable[[int], None] | None
    id: int
    num_workers: int
    base_seed: int
    default_dtype: Any


class HostPickler(ForkingPickler):
    """Pickles what goes to a worker. Raises RuntimeError for a tensor on a GPU: the worker would have to touch the GPU."""

    def reducer_override(self, value: Any) -> Any:
        """Called for every object."""
        if isinstance(value, Tensor) and value.is_gpu:
            raise RuntimeError(f"cannot send a tensor on {value.device} to a worker process: {NO_GPU}. num_workers=0 can use "
                               "datasets on a GPU.")
        return NotImplemented

    @classmethod
    def dump_bytes(cls, value: Any) -> bytes:
        """`value`, pickled."""
        stream = io.BytesIO()
        cls(stream, pickle.HIGHEST_PROTOCOL).dump(value)
        return stream.getvalue()


class Packed:
    """A job on its way to another process, pickled while that is started so that it may hold locks and queues."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (HostPickler.dump_bytes(self._job),)

    def open(self) -> Job:
        """The job, in a process that was forked."""
        return self._job


class _Unpacked(NamedTuple):
    pickled: bytes

    def open(self) -> Job:
        """The job. Unpickled in the worker's own code, so that an error there is reported to the main process."""
        job: Job = _Unpickler(io.BytesIO(self.pickled)).load()
        return job


class _Unpickler(pickle.Unpickler):
    """Says what to do about what only the main process has."""

    def find_class(self, module: str, name: str) -> Any:
        """The class or function `name` of a module. Raises RuntimeError if it cannot be imported here."""
        try:
            return super().find_class(module, name)
        except (AttributeError, ImportError) as error:
            raise RuntimeError(f"a worker process cannot import {name!r} of {module!r} ({error}). {NOT_IMPORTABLE}") from error


def _unpack(pickled: bytes) -> _Unpacked:
    return _Unpacked(pickled)


def main(packed: Any, pipe: Connection, inherited: Connection | None) -> None:
    """The life of a worker: until the other end of `pipe` is closed. A fork has that end too: `inherited`."""
    if inherited is not None:
        inherited.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which then closes the pipe
    # The workers are the parallelism; a thread pool in each would only fight for the cores. Numba refuses another number once it
    # has threads, as in a fork of a process that has computed.
    if "numba" in sys.modules:
        set_num_threads(1)
    else:
        os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    gpu_probe.forbid(NO_GPU)
    set_default_device("cpu")
    tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, tasks), daemon=True).start()
    worker = "?"
    try:
        job, error = None, None
        try:
            job = packed.open()
            worker = str(job.id)
            _prepare(job)
        except Exception as problem:
            error = _failure(problem, worker)
        _work(job, error, pipe, tasks)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the main process is gone or no longer interested


def _receive(pipe: Connection, tasks: queue.SimpleQueue[Task | None]) -> None:
    """Keep the pipe empty: a main process that could not send would not read either, and both would wait forever."""
    try:
        while True:
            tasks.put(pipe.recv())
    except (EOFError, OSError):
        tasks.put(None)


def _prepare(job: Job) -> None:
    seed = job.base_seed + job.id
    manual_seed(seed)
    random.seed(seed)
    np.random.seed([seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF])
    _dtypes.set_default_dtype(job.default_dtype)
    set_worker_info(WorkerInfo(job.id, job.num_workers, seed, job.dataset))
    if job.init is not None:
        job.init(job.id)


def _work(job: Job | None, error: Failure | None, pipe: Connection, tasks: queue.SimpleQueue[Task | None]) -> None:
    epoch = -1
    fetch: Fetch | None = None
    finished = False
    while (task := tasks.get()) is not None:
        if job is None or error is not None:
            pipe.send(task[:2])
            pipe.send(error)
            continue
        try:
            if task.epoch != epoch:
                epoch, finished = task.epoch, False
                fetch = make_fetch(job.dataset, job.batched, job.collate, job.drop_last)
            if finished:
                batch: Any = Finished()
            else:
                batch = fetch(pickle.loads(task.indices))  # type: ignore[misc]
            reply = HostPickler.dump_bytes(batch)
        except EndOfStream:
            finished = True
            reply = HostPickler.dump_bytes(Finished())
        except Exception as problem:
            reply = HostPickler.dump_bytes(_failure(problem, str(job.id)))
        pipe.send(task[:2])
        pipe.send_bytes(reply)


def _failure(error: Exception, worker: str) -> Failure:
    name = type(error).__name__
    try:
        kind = pickle.dumps(type(error))
    except Exception:  # a class that was defined inside a function, for example
        kind = None
    text = "".join(traceback.format_exception(error))
    return Failure(kind, name, f"Caught {name} in DataLoader worker process {worker}.\nOriginal {text}")
