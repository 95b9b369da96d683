"""A row of the op table, and the inputs that rows have."""
from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import lucid

Inputs = Callable[[np.random.Generator], list[np.ndarray]]


@dataclasses.dataclass
class Row:
    """An operation under test, called in the same way on lucid and on PyTorch.

    op: what users call: "atan2", "linalg.solve", "Tensor.expand", "nn.functional.gelu".
    inputs: makes the tensors' values from a random generator: float64, and integers for indices.
    reference: the same operation in NumPy and float64; None where NumPy has nothing, then PyTorch checks the values.
    call: `call(library, *tensors)`; by default the function that `op` names.
    variant: tells the rows of one operation apart.
    smooth: the gradient is checked, once and twice.
    complex: the values and both gradients are checked in complex128 as well.
    special: compared on NaN, inf, 0 and -0 as well.
    data_dependent: the shape of the result depends on elements, so the device meta refuses.
    random: gives random numbers, the same on both devices, which PyTorch's are not.
    out: takes `out=`, as PyTorch's does.
    dtypes_differ: names of the dtypes where lucid differs from PyTorch on purpose; docs/differences.md says how.
    """

    op: str
    inputs: Inputs
    reference: Callable[..., Any] | None
    call: Callable[..., Any] | None = None
    variant: str = ""
    smooth: bool = True
    complex: bool = False
    special: bool = True
    data_dependent: bool = False
    random: bool = False
    out: bool = False
    dtypes_differ: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.op} {self.variant}".strip()

    def run(self, library: Any, *tensors: Any, **out: Any) -> Any:
        """The result of the operation of `library`, which is lucid or torch."""
        if self.call is not None:
            return self.call(library, *tensors, **out)
        return operator.attrgetter(self.op)(library)(*tensors, **out)

    @property
    def function(self) -> Callable[..., Any]:
        """lucid's operation, of tensors alone."""
        return functools.partial(self.run, lucid)


SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), ()), ((), ())]

# What these give depends on the strides of their inputs.
OF_STRIDES = ("as_strided", "Tensor.as_strided_", "Tensor.view", "Tensor.view_as", "view_as_complex")


def matrix(low: float = -2.0, high: float = 2.0, shape: tuple[int, ...] = (3, 4)) -> Inputs:
    """One array of uniform numbers."""
    return lambda rng: [rng.uniform(low, high, shape)]


def pair(low: float = -2.0, high: float = 2.0, a: tuple[int, ...] = (3, 4), b: tuple[int, ...] = (3, 4)) -> Inputs:
    """Two arrays of uniform numbers."""
    return lambda rng: [rng.uniform(low, high, a), rng.uniform(low, high, b)]


def replaced(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    """A copy with other elements at an index."""
    result = x.copy()
    result[index] = value
    return result


def constant(library: Any, like: Any, values: Any) -> Any:
    """A tensor of `values` on the device of `like`: an index, a mask."""
    return library.tensor(values, device=like.device)
