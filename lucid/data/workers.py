"""The main process's side of worker processes: hands out tasks, puts the batches back in order, ends the processes."""
from __future__ import annotations

import functools
import itertools
import multiprocessing
import os
import pickle
import sys
import time
import weakref
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from .. import _dtypes
from .worker import NOT_IMPORTABLE, Failure, Finished, Job, Packed, Task
from .worker import main as worker_main

# Seconds that workers get, all together, to end by themselves when they are no longer needed.
GRACE = 5.0


@functools.cache
def default_context() -> Any:
    """How worker processes are started.

    Not by a fork of this process: a copy of a process in which Numba's TBB threads run has their locks but not the threads,
    and the first parallel kernel in it can hang. The fork server is a clean process that is forked instead, with lucid
    already imported: 0.3 s for the first worker and 5 ms for each further one, where 'spawn' takes 0.15 s for each one
    (4 workers on 2 cores).
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "lucid.data.worker"])
    return context


class _Unreadable(NamedTuple):
    """A task or a batch that cannot go from one process to the other."""

    error: Exception

    @classmethod
    def of(cls, error: Exception) -> _Unreadable:
        """`error`, without the frame that caught it, which holds the result: a cycle would keep the processes alive."""
        return cls(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))


def _check_main() -> None:
    """Raise RuntimeError if a new process, which imports the main program first, would end there."""
    main: Any = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)  # '<stdin>' on standard input
    if script is not None and getattr(main, "__spec__", None) is None and not os.path.exists(script):
        raise RuntimeError(f"a worker process cannot import the main program, {script}. {NOT_IMPORTABLE}")


class _Worker:
    """A process and our end of its pipe."""

    def __init__(self, context: Any, job: Job) -> None:
        if context.get_start_method() != "fork":
            _check_main()
        self.pipe: Connection
        self.pipe, theirs = context.Pipe()
        inherited = self.pipe if context.get_start_method() == "fork" else None
        self.process = context.Process(target=worker_main, args=(Packed(job), theirs, inherited), daemon=True)
        try:
            self.process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.pipe.close()
            raise RuntimeError(f"cannot send the dataset, collate_fn or worker_init_fn to a worker process: {error}. Define "
                               "classes and functions at the top level of a module, or use num_workers=0.") from error
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()


def _end(workers: list[_Worker]) -> None:
    """End worker processes and wait for them, so that none is left behind as a zombie."""
    for worker in workers:
        worker.pipe.close()  # a worker ends when its pipe does
    deadline = time.monotonic() + GRACE
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
        worker.process.close()
    workers.clear()


class WorkerIterator(Iterator[Any]):
    """Batches of one epoch after another of a DataLoader from worker processes, in the order of the sampler.

    Task n goes to the next worker in turn; each has up to `prefetch_factor` tasks. The processes end with the iterator:
    when it is exhausted (unless they are persistent), closed or no longer referenced.
    """

    def __init__(self, loader: Any, base_seed: int) -> None:
        self._timeout = loader.timeout or None
        self._prefetch: int = loader.prefetch_factor
        self._persistent = loader.persistent_workers
        self._epoch = -1
        usual = multiprocessing.get_context if loader._starts_as_python else default_context
        context = loader.multiprocessing_context or usual()
        self._workers: list[_Worker] = []
        # Not a method: the finalizer must not keep this object alive. It also runs when the interpreter exits.
        self.close = weakref.finalize(self, _end, self._workers)
        try:
            for number in range(loader.num_workers):
                self._workers.append(_Worker(context, Job(
                    loader.dataset, loader.batch_sampler is not None, loader.collate_fn, loader.drop_last,
                    loader.worker_init_fn, number, loader.num_workers, base_seed, _dtypes.get_default_dtype())))
        except BaseException:
            self.close()
            raise
        self.start_epoch(loader._index_sampler)

    def start_epoch(self, sampler: Any) -> None:
        """Start an epoch; batches of an earlier epoch that are still to come are dropped."""
        self._epoch += 1
        self._tasks = enumerate(iter(sampler))
        self._next = 0
        self._owner: dict[int, int] = {}  # number of a task that has no reply yet -> its worker
        self._ready: dict[int, Any] = {}  # replies that came before their turn
        self._finished: set[int] = set()  # workers whose iterable dataset has come to its end
        self._turn = itertools.cycle(range(len(self._workers)))
        for _ in range(self._prefetch * len(self._workers)):
            self._hand_out()

    def _hand_out(self) -> None:
        """Send the next task to the worker whose turn it is."""
        if len(self._finished) == len(self._workers):
            return
        number, indices = next(self._tasks, (None, None))
        if number is None:
            return
        worker = next(w for w in self._turn if w not in self._finished)
        try:
            task = Task(self._epoch, number, bytes(ForkingPickler.dumps(indices)))
        except Exception as error:
            self._ready[number] = _Unreadable.of(error)
            return
        self._owner[number] = worker
        try:
            self._workers[worker].pipe.send(task)
        except OSError:
            self._lost(worker)

    def __next__(self) -> Any:
        if not self.close.alive:
            raise StopIteration
        while self._next in self._owner or self._next in self._ready:
            while self._next not in self._ready:
                self._receive()
            batch = self._ready.pop(self._next)
            self._next += 1
            if isinstance(batch, Finished):
                continue
            if isinstance(batch, _Unreadable):
                try:
                    raise batch.error
                finally:
                    del batch
            if isinstance(batch, Failure):
                batch.raise_again()
            return batch
        if not self._persistent:
            self.close()
        raise StopIteration

    def _receive(self) -> None:
        """Wait for a reply of any worker and file it."""
        waiting = {self._workers[w].pipe: w for w in set(self._owner.values())}
        ready: list[Any] = wait(list(waiting), self._timeout)
        if not ready:
            self.close()
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for pipe in ready:
            worker = waiting[pipe]
            try:
                epoch, number = pipe.recv()
                reply = pipe.recv_bytes()
            except (EOFError, OSError):
                self._lost(worker)
            if epoch != self._epoch:
                continue
            try:
                batch = pickle.loads(reply)
            except Exception as error:
                batch = _Unreadable.of(error)
            del self._owner[number]
            self._ready[number] = batch
            if isinstance(batch, Finished):
                self._finished.add(worker)
            self._hand_out()

    def _lost(self, worker: int) -> None:
        process = self._workers[worker].process
        process.join(GRACE)
        code, pid = process.exitcode, process.pid
        self.close()
        # Exit code 1 is that of a script which starts processes while it is imported.
        hint = "" if code != 1 else (". If the script's own code runs when it is imported, put it under `if __name__ == "
                                     "'__main__':`: worker processes import the script")
        raise RuntimeError(f"DataLoader worker {worker} (pid {pid}) exited unexpectedly with exit code {code}{hint}")
