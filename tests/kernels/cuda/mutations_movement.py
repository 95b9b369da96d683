"""Planted bugs for joined arrays: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def check() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.movement.test_concatenate")
    concatenate = importlib.import_module("lucid_kernels.cuda.movement.concatenate").concatenate
    tests.test_values(cupy, concatenate, None, np.float32)


FILE = "concatenate.cu"
MUTATIONS = [
    Mutation(FILE, "rows of the result", r"r \* row \+ first", "r * width + first", check),
    Mutation(FILE, "arrays behind the sixteenth", r"first \+ place", "place", check),
    Mutation(FILE, "rows of an array", r"r \* \(end - begin\)", "r * width", check),
    Mutation(FILE, "places in an array", r"place - begin\]", "place]", check),
    Mutation(FILE, "the element behind", r"place >= sections.begin", "place > sections.begin", check),
    Mutation(FILE, "the last array left out", r" SECTION\(15\)", "", check),
]
