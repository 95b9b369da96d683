"""`SobolEngine`: points that fill a cube more evenly than random ones, by the name of torch.quasirandom."""
from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any, Self

import numpy as np

from ... import _dtypes
from ...tensor import Tensor
from ..creation.creation import from_numpy
from .random import randint

_SEEDS = 2 ** 31 - 1


class SobolEngine:
    """The Sobol sequence in `dimension` dimensions, up to 21201, with the direction numbers of Joe and Kuo: the points are
    PyTorch's. With `scramble` they are scrambled at random as Owen proposed (a linear map of the bits and a shift), by `seed` or
    the default generator; these are not PyTorch's points.

    The numbers come from SciPy, which has to be there. Raises ValueError for other dimensions.

    >>> engine = lucid.quasirandom.SobolEngine(2)
    >>> engine.draw(3)
    Tensor([[0.00, 0.00],
            [0.50, 0.50],
            [0.75, 0.25]], requires_grad=False)
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        try:
            sobol = importlib.import_module("scipy.stats.qmc").Sobol
        except ImportError as error:
            raise ImportError("SobolEngine takes its numbers from SciPy: pip install scipy") from error
        numbers: dict[str, Any] = {}
        if scramble:
            name = "rng" if "rng" in inspect.signature(sobol).parameters else "seed"  # of SciPy before 1.15
            numbers[name] = np.random.default_rng(int(randint(_SEEDS, ()).item()) if seed is None else seed)
        self._engine: Any = sobol(dimension, scramble=scramble, bits=self.MAXBIT, **numbers)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, of the shape (n, dimension), in the default dtype or `dtype`, or in `out`, which gets that shape.

        >>> lucid.quasirandom.SobolEngine(1).draw(2, dtype=lucid.float64).dtype
        dtype('float64')
        """
        with warnings.catch_warnings(action="ignore"):  # of numbers of points that are no power of two
            points = self._engine.random(n)
        self.num_generated += n
        result = from_numpy(points).to(_dtypes.get_default_dtype() if dtype is None else dtype)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2 ** m`` points. Raises ValueError unless there are then a power of two in all: only these are balanced.

        >>> lucid.quasirandom.SobolEngine(3).draw_base2(2).shape
        lucid.Size([4, 3])
        """
        n = 2 ** m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError("The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: "
                             f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(n, out, dtype)

    def reset(self) -> Self:
        """Start over, with the same points.

        >>> engine = lucid.quasirandom.SobolEngine(1)
        >>> engine.draw(5).shape, engine.reset().num_generated
        (lucid.Size([5, 1]), 0)
        """
        self._engine.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leave `n` points out.

        >>> lucid.quasirandom.SobolEngine(1).fast_forward(2).draw(1)
        Tensor([[0.75]], requires_grad=False)
        """
        self._engine.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(parts)})"
