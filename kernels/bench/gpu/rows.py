"""The targets and training steps beside PyTorch: each side in its own process, a block each in turn, as in `run.py`.

Fewer and shorter rounds than there, and no errors against float64, which the gate has found: the time goes to more rows. Beside
the time that a user sees stands that of the device alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lucid_kernels.measuring.rounds import Pace

from bench import gpu_targets, targets
from bench.driver import Driver, WorkerFailed
from bench.gpu.place import GPU, SIMULATOR, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

PACE = Pace(rounds=4, most=8, seconds=0.03, patience=0.1)
_FIRST = ("targets.training", "gpu_targets.large_models", "targets.attention", "gpu_targets.half_attention",
          "targets.convolutions", "targets.adam", "targets.chain", "gpu_targets.memory_bound", "gpu_targets.layers")
_ALL = [f"targets.{name}" for name in targets.FAMILIES] + [f"gpu_targets.{name}" for name in gpu_targets.FAMILIES]
#: What is asked for most first.
FAMILIES = (*_FIRST, *(name for name in _ALL if name not in _FIRST))
#: On the simulator, which takes minutes for more.
SIMULATED = ("gpu_targets.half_attention",)


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each case.

    After an error of CUDA a process can do nothing more on the GPU: then new ones go on with the next case.
    """
    sides = ["ours", *(["torch"] if given.facts.get("torch_cuda") else [])]
    pace = PACE if place() == GPU else Pace(1, 1, 0.0, 0.0)
    todo = [*(SIMULATED if place() == SIMULATOR else FAMILIES)]
    seen: list[str] = []  # of the first family
    while todo:
        driver, before = Driver("gpu", place() != GPU, sides, pace, errors=False), len(seen)
        try:
            while todo:
                yield from _family(driver, todo[0], seen)
                seen, before = [], 0
                del todo[0]
        except Broken:
            continue
        except WorkerFailed as error:
            yield {"name": todo[0], "failed": f"after {seen[-1] if seen else 'nothing'}: {error}"}
            if len(seen) == before:  # again at the same case
                seen = []
                del todo[0]
        finally:
            driver.close()


class Broken(Exception):
    """The processes are of no use any more."""


def _family(driver: Driver, family: str, seen: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a family but those `seen`, to which their names are added."""
    for result in driver.run(family, seen):
        seen.append(result["name"])
        if not result["failure"] and not result["missing"]:
            result["device_seconds"] = driver.device_seconds() / driver.facts["operations"]
        result["bytes"] = driver.facts["bytes"] / driver.facts["operations"]
        yield result
        if "cuda" in result["failure"].lower():
            raise Broken
