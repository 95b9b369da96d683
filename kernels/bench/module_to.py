"""What `model.to('gpu')` costs for 100 million parameters: copies of each array, and memory needed on top of the model.

Counted, not timed, so the simulator will do where there is no GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections import Counter
from typing import Any

from bench.environment import child_environment

PARAMETERS, ARRAYS = 100_000_000, 10


def measure(model: Any, device: str) -> dict[str, float]:
    """Move `model`, which is on the CPU, to a GPU; how it went.

    `copies` is the most that any array was copied, `arrays` how many were, `extra` the peak of the memory of both devices
    together less the model's own, in units of the largest array.
    """
    import lucid
    from lucid import backends

    gpu = backends.gpu_module()
    tensors = [tensor for member in (*model.parameters(), *model.buffers()) for tensor in (member, member.grad)]
    live = {id(tensor._array): weakref.ref(tensor._array) for tensor in tensors if tensor is not None}
    sizes = {key: array().nbytes for key, array in live.items()}  # type: ignore[union-attr]
    del tensors
    peak = 0
    copies: Counter[int] = Counter()
    copied: list[weakref.ref[Any]] = []
    from_host = gpu.from_host

    def counted(array: Any, *target: Any) -> Any:
        nonlocal peak
        result = from_host(array, *target)
        copies[id(array) if live.get(id(array), lambda: None)() is array else -1] += 1
        copied.append(weakref.ref(result))
        peak = max(peak, sum(found.nbytes for array in (*live.values(), *copied) if (found := array()) is not None))
        return result

    gpu.from_host = counted
    try:
        model.to(device)
    finally:
        gpu.from_host = from_host
    lucid.gpu.synchronize()
    return {"arrays": len(copies), "copies": max(copies.values()), "largest": max(sizes.values()),
            "extra": (peak - sum(sizes.values())) / max(sizes.values())}


def _run(parameters: int) -> dict[str, float]:
    import lucid
    from lucid import nn

    rows = parameters // ARRAYS // 1000
    return measure(nn.ParameterList([lucid.zeros(rows, 1000) for _ in range(ARRAYS)]), "gpu")


def report(quick: bool = False) -> tuple[dict[str, Any], str]:
    """The counts of a fresh process, and a line that says them."""
    import lucid

    environment = child_environment("ours")
    if not lucid.gpu.is_available():
        environment["LUCID_GPU"] = "simulated"
    parameters = PARAMETERS // 10 if quick else PARAMETERS
    command = [sys.executable, "-m", "bench.module_to", str(parameters)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) | {"parameters": parameters}
    return result, (f"model.to('gpu') of {parameters / 1e6:.0f} million parameters in {result['arrays']} arrays: "
                    f"{result['copies']} copy of each (bound 1), {result['extra']:.2f} arrays of extra memory (bound 1)")


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]))))
