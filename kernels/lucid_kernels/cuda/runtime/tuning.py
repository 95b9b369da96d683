"""What was measured of the kernels' configurations: `tuning/sm_XY.json`, written by `kernels/bench/gpu_batch.py` on such a chip.

Each family says what its keys and numbers mean; for what is not in the table it has a model.
"""
from __future__ import annotations

import functools
import json
import pathlib

from lucid_kernels.cuda.runtime import recording

FOLDER = pathlib.Path(__file__).parents[1] / "tuning"


def path_of(capability: str) -> pathlib.Path:
    """Where the table of chips of a compute capability, as '90', lies."""
    return FOLDER / f"sm_{capability}.json"


@functools.cache
def table(capability: str) -> dict[str, list[int]]:
    """The numbers of the configuration of each problem by its key; empty where nothing was measured."""
    path = path_of(capability)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(capability: str, measured: dict[str, list[int]]) -> pathlib.Path:
    """Add what was measured to the table of a compute capability, one problem a line."""
    entries = {**table(capability), **measured}
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries))
    path = path_of(capability)
    path.write_text(f"{{\n{lines}\n}}\n" if entries else "{}\n", encoding="utf-8")
    table.cache_clear()
    recording.forget()  # plans have the kernels that were chosen before
    return path
