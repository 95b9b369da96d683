"""Measures the configurations of convolutions and attention, and writes `cuda/tuning/sm_XY.json` for this chip.

The networks and rows of the bench run once; where they come to a product or to attention that has not been seen, it is computed
in each configuration there and then, with its own arrays. One that gives another result than the model's choice is only noted.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bench.gpu.clock import device_seconds
from bench.gpu.place import GPU, SIMULATOR, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

FAMILIES = ("gpu_targets.large_models", "targets.training", "targets.convolutions", "targets.attention",
            "gpu_targets.half_attention", "networks")
_MOST = 12  # candidates of a problem
_SLOWEST = 4  # of what the model thinks of them, in times of the best
#: Of the largest result, between configurations: sums in another order, and for halves a last bit.
_TOLERANCE = {4: 1e-4, 2: 2e-2}
#: Launchers of one or more choices.
_LAUNCHERS = (("convolution.tensor_cores", "convolve"), ("convolution.tensor_cores", "convolve_grad_input"),
              ("convolution.tensor_cores", "convolve_grad_weight"),
              ("attention.flash_attention", "attention"), ("attention.flash_attention", "attention_grad"))
_KEPT = 0.98  # what is not faster than this share of the model's choice does not replace it


class Tuner:
    """Stands between the launchers and what chooses for them."""

    def __init__(self, given: Time) -> None:
        self.given = given
        self.measured: dict[str, list[int]] = {}
        self.rows: list[dict[str, Any]] = []
        self._seen: set[str] = set()
        self._asked: dict[str, tuple[Any, dict[Any, list[int]]]] = {}  # key -> the choice, and its candidates as in the table
        self._forced: dict[str, Any] = {}
        self._busy = False

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """With its functions in the place of the launchers and of what chooses."""
        with contextlib.ExitStack() as stack:
            for module, name in _LAUNCHERS:
                _replace(stack, module, name, self._launcher)
            _replace(stack, "convolution.configurations", "choose", self._choose)
            _replace(stack, "attention.flash_attention", "_chosen", self._chosen)
            yield

    def _choose(self, original: Callable[..., Any], capability: str, key: str, found: Any, others: float) -> Any:
        """As `configurations.choose`."""
        configurations = importlib.import_module("lucid_kernels.cuda.convolution.configurations")
        fastest = sorted(found)[:_MOST]
        table = {(tile, slices): [configurations.TILES.index(tile), slices] for cycles, tile, slices in fastest
                 if cycles <= _SLOWEST * fastest[0][0]}
        choice = original(capability, key, found, others)
        return None if choice is None else self._answer(key, choice, table)

    def _chosen(self, original: Callable[..., Any], name: str, itemsize: int, width: int, device: int, is_plain: bool, heads: int,
                rows: int) -> Any:
        """As `flash_attention._chosen`."""
        flash = importlib.import_module("lucid_kernels.cuda.attention.flash_attention")
        table = {tiles: [place] for place, tiles in enumerate(flash.choices(name, itemsize, width, device, is_plain))}
        key = flash.key(name, itemsize, width, is_plain, heads, rows)
        return self._answer(key, original(name, itemsize, width, device, is_plain, heads, rows), table)

    def _answer(self, key: str, choice: Any, table: dict[Any, list[int]]) -> Any:
        self._asked[key] = choice, table
        return self._forced.get(key, choice)

    def _launcher(self, original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """As the launcher, which it calls in all configurations the first time."""
        if self._busy:
            return original(*arguments, **options)
        self._busy, self._asked = True, {}
        try:
            result = original(*arguments, **options)
            for key, (choice, table) in list(self._asked.items()):
                if key not in self._seen and len(table) > 1 and self.given.left() > 10:
                    self._tune(key, choice, table, functools.partial(original, *arguments, **options))
        finally:
            self._busy, self._forced = False, {}
        return result

    def _tune(self, key: str, choice: Any, table: dict[Any, list[int]], call: Callable[[], Any]) -> None:
        import cupy

        self._seen.add(key)
        wanted = [cupy.array(each) for each in _compared(key, call())]
        times: dict[Any, float] = {}
        wrong = []
        for candidate in dict.fromkeys((choice, *table)):
            self._forced = {key: candidate}
            if not all(map(_are_close, _compared(key, call()), wanted)):
                wrong.append(str(candidate))
                continue
            times[candidate] = device_seconds(call, rounds=3, group=1e-3)
            if place() != GPU and len(times) == 2:
                break
        self._forced = {}
        row: dict[str, Any] = {"key": key, "wrong": wrong, "us": {str(each): seconds * 1e6 for each, seconds in times.items()}}
        best = min(times, key=lambda candidate: times[candidate], default=None)
        if choice in times and times[best] > _KEPT * times[choice]:
            best = choice
        if best in table:
            self.measured[key] = table[best]
            row |= {"best": str(best), "choice": str(choice), "gain": times[choice] / times[best] if choice in times else None}
        self.rows.append(row)


def _replace(stack: contextlib.ExitStack, module: str, name: str, function: Callable[..., Any]) -> None:
    """Let the `function`, which gets the original as its first argument, stand in for a function of a module."""
    holder = importlib.import_module(f"lucid_kernels.cuda.{module}")
    original = getattr(holder, name)
    setattr(holder, name, functools.partial(function, original))
    stack.callback(setattr, holder, name, original)


def _compared(key: str, value: Any) -> list[Any]:
    """The results that no choice changes: the shifts and factors of attention's sums go with its tiles."""
    arrays = [each for each in (value if isinstance(value, tuple) else (value,)) if each is not None]
    return arrays[:1] if key.startswith("flash_attention ") else arrays


def _are_close(found: Any, wanted: Any) -> bool:
    import cupy

    a, b = found.astype(cupy.float32), wanted.astype(cupy.float32)
    if place() != GPU and not float(cupy.abs(b).sum()):  # the stub computes nothing
        return True
    finite = cupy.isfinite(b)
    error = cupy.abs(cupy.where(finite, a - b, 0)).max()
    largest = cupy.abs(cupy.where(finite, b, 0)).max()
    return bool(error <= _TOLERANCE[found.dtype.itemsize] * largest + 1e-30) and bool((cupy.isfinite(a) == finite).all())


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each problem; the table is written after each network."""
    os.environ["LUCID_GPU_PLANS"] = "0"  # a plan would pass the launchers by
    tables = importlib.import_module("lucid_kernels.cuda.runtime.tuning")
    tensor_cores = importlib.import_module("lucid_kernels.cuda.convolution.tensor_cores")
    tuner = Tuner(given)
    with tuner.at_work():
        for name, call in _calls():
            if given.left() < 15:
                break
            try:
                call()
            except Exception as error:
                yield {"network": name, "failed": f"{type(error).__name__}: {error}"}
            rows, tuner.rows = tuner.rows, []
            if place() == GPU and rows:
                tables.write(tensor_cores.capability(), tuner.measured)
            for row in rows:
                yield {"network": name, **row}
    yield {"table": tuner.measured, "capability": tensor_cores.capability(), "written": place() == GPU}


def _calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The rows of the bench that contain convolutions or attention."""
    from bench.case import Side, load

    importlib.import_module("lucid.backends.gpu.backend")
    if place() == SIMULATOR:
        yield "attention", _small_attention
        return
    side = Side("ours", "gpu")
    for family in FAMILIES:
        for case in load(family, side):
            if case.call is not None:
                yield case.name, case.call


def _small_attention() -> None:
    import lucid

    x = lucid.ones(1, 1, 4, 8, device="gpu")
    lucid.nn.functional.scaled_dot_product_attention(x, x, x)
