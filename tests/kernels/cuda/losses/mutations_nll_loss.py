"""Planted bugs for nll_loss: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family


def check_nll_loss() -> None:
    tests, nll_loss, cupy = family("nll_loss")
    for reduction in ("none", "mean"):
        tests.test_values_and_gradients(nll_loss, cupy, None, reduction, np.float32)
    tests.test_a_class_is_ignored(nll_loss, cupy)
    try:
        tests.test_label_out_of_range(nll_loss, cupy, None)
    except pytest.fail.Exception as failure:
        raise AssertionError(str(failure)) from failure


MUTATIONS = [
    # nll_loss, nll_loss_grad
    Mutation("nll_loss.cu", "class of another place", r"\+ t\) \* inner \+ i % inner", "+ t) * inner", check_nll_loss),
    Mutation("nll_loss.cu", "label not checked", r"t >= 0 && t < C", "t >= 0", check_nll_loss),
    Mutation("nll_loss.cu", "an ignored label has a weight", r"t == ignore_index \|\| !is_class", "!is_class", check_nll_loss),
    Mutation("nll_loss.cu", "chunk not cut off", r"first \+ chunk < n \? first \+ chunk : n", "first + chunk", check_nll_loss),
    Mutation("nll_loss.cu", "only the first chunk", r"b < chunks;", "b < 1;", check_nll_loss),
    Mutation("nll_loss.cu", "weights of the first chunk only", r"i < \(chunks \? chunks : n\)", "i < (chunks ? 1 : n)", check_nll_loss),
    Mutation("nll_loss.cu", "bad label not reported", r"set_error\(", "if (false) set_error(", check_nll_loss),
    Mutation("nll_loss.cu", "one gradient for all labels", r"single \? 0 : i", "0", check_nll_loss),
    Mutation("nll_loss.cu", "a class in every row", r"c \+ j == t", "j == t", check_nll_loss),
    Mutation("nll_loss.cu", "not averaged", r"slope / total", "slope", check_nll_loss),
]  # fmt: skip
