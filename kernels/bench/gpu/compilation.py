"""Compiles every kernel into CuPy's cache on disk, by as many processes as there are processors: a row for each module."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench.environment import cpu_count
from bench.gpu.place import SIMULATOR, place, prepare

if TYPE_CHECKING:
    from bench.gpu.part import Time

_SIMULATED = ("softmax",)  # the simulator's compiler takes seconds for each


def instances() -> set[tuple[str, str]]:
    """File and name of each template instance that the sources name."""
    from lucid_kernels.cuda.runtime import source

    return {(file, name) for file in source.names() for name in source.instantiations(source.load(file))}


def modules() -> list[tuple[str, str]]:
    """File and the name of one kernel of each module; of files of one module an instance, all kernels."""
    from lucid_kernels.cuda.runtime import source

    found = []
    for file in _SIMULATED if place() == SIMULATOR else source.names():
        text = source.load(file)
        names = source.instantiations(text)
        found += [(file, name) for name in (names if source.is_one_module_an_instance(text) else names[:1])]
    return found


def compiled(module: tuple[str, str]) -> dict[str, Any]:
    """Compile one, in a process of the pool."""
    from lucid_kernels.cuda.runtime import launch

    start = time.perf_counter()
    try:
        launch.kernel(*module)
    except Exception as error:
        return {"file": module[0], "kernel": module[1], "failed": f"{type(error).__name__}: {error}"[:2000]}
    return {"file": module[0], "kernel": module[1], "seconds": time.perf_counter() - start}


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each module, as it is ready."""
    todo = modules()
    workers = min(len(todo), cpu_count(), 16)
    # Processes that begin anew: a copy of this one would have its CUDA, which does not work there.
    with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), prepare) as pool:
        for future in concurrent.futures.as_completed([pool.submit(compiled, module) for module in todo]):
            yield future.result()
