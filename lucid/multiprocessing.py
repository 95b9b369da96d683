"""Python's `multiprocessing`, with tensors that are sent between processes in shared memory, as `Tensor.share_memory_` does.

Not imported with lucid.
"""
from __future__ import annotations

import multiprocessing as _python
import signal
from collections.abc import Callable, Sequence
from multiprocessing import *  # noqa: F403
from typing import Any

__all__ = [*_python.__all__, "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]


class ProcessException(Exception):
    """A process of `spawn` that did not end well: its place and its number."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process of `spawn` raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process of `spawn` ended with another status than 0, or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes: Sequence[Any], errors: Sequence[Any]) -> None:
        self.processes, self.errors = list(processes), list(errors)
        self._running = {process.sentinel: number for number, process in enumerate(self.processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, at most `timeout` seconds: whether all have. When one fails, the others are ended and
        ProcessRaisedException or ProcessExitedException is raised.
        """
        from multiprocessing.connection import wait
        ready = wait(list(self._running), timeout) if self._running else []
        failed = None
        for sentinel in ready:
            number = self._running.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                failed = number if failed is None else failed
        if failed is None:
            return not self._running
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
        self._raise(failed)
        return False

    def _raise(self, number: int) -> None:
        process = self.processes[number]
        if not self.errors[number].empty():
            text = f"\n\n-- Process {number} terminated with the following error:\n{self.errors[number].get()}"
            raise ProcessRaisedException(text, number, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {number} terminated with signal {name}", number, process.pid, code, name)
        raise ProcessExitedException(f"process {number} terminated with exit code {code}", number, process.pid, code)


SpawnContext = ProcessContext


def _call(function: Callable[..., Any], number: int, args: tuple[Any, ...], errors: Any) -> None:
    import sys
    import traceback
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass  # the parent has it too
    except Exception:
        errors.put(traceback.format_exc())
        sys.exit(1)


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> ProcessContext | None:
    """Run ``fn(i, *args)`` in process i of `nprocs`; with `join` wait for them, else return what waits for them."""
    context: Any = _python.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [context.Process(target=_call, args=(fn, number, args, queue), daemon=daemon)
                 for number, queue in enumerate(errors)]
    for process in processes:
        process.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> ProcessContext | None:
    """`start_processes` of new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_all_sharing_strategies() -> set[str]:
    """{'file_descriptor'}: shared memory without a name."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """'file_descriptor'."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept 'file_descriptor'. Raises AssertionError for others."""
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"unknown sharing strategy {new_strategy!r}: there is {sorted(get_all_sharing_strategies())}")
