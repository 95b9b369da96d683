"""Results that are not there yet, by the names of torch.futures.

>>> future = lucid.futures.Future()
>>> later = future.then(lambda done: done.wait() + 1)
>>> future.set_result(2)
>>> later.wait()
3
"""
from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value, or an error, that another thread sets. `devices` changes nothing.

    >>> future = lucid.futures.Future()
    >>> future.set_result(3)
    >>> future.done(), future.value()
    (True, 3)
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether the value, or the error, is there."""
        return self._future.done()

    def wait(self) -> T:
        """Wait for the value; raises the error if there is one."""
        return self._future.result()

    def value(self) -> T:
        """The value, which must be there: RuntimeError otherwise."""
        if not self.done():
            raise RuntimeError("the value of a Future that is not done: call wait()")
        return self._future.result()

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """The future of ``callback(self)``, which is called when this one is done: at once, or by the thread that sets it."""
        result: Future[Any] = Future()

        def call(_: object) -> None:
            try:
                result.set_result(callback(self))
            except Exception as error:
                result.set_exception(error)

        self._future.add_done_callback(call)
        return result

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` when this one is done; what it raises is logged."""
        self._future.add_done_callback(lambda _: callback(self))

    def set_result(self, result: T) -> None:
        """Set the value. Raises RuntimeError where there is one."""
        try:
            self._future.set_result(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be marked completed once") from None

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        try:
            self._future.set_exception(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future can only be marked completed once") from None


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of the list of `futures`, done when all are; with the error of one that has one.

    >>> future = lucid.futures.Future()
    >>> together = lucid.futures.collect_all([future])
    >>> future.set_result(3)
    >>> [each.wait() for each in together.wait()]
    [3]
    """
    given, lock = list(futures), threading.Lock()
    result: Future[list[Future[Any]]] = Future()
    left = len(given)
    if not given:
        result.set_result([])

    def one_more(future: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            errors = [error for each in given if (error := each._future.exception()) is not None]
            if errors:
                result.set_exception(errors[0])
            else:
                result.set_result(given)

    for future in given:
        future.add_done_callback(one_more)
    return result


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all; the list of their values. Raises the error of one that has one.

    >>> future = lucid.futures.Future()
    >>> future.set_result(3)
    >>> lucid.futures.wait_all([future])
    [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]
