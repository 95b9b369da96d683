"""Rows of the op table for Fourier transforms, with every `n`, `s`, `dim` and `norm`."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from tests.ops.table.outcomes import DTYPES
from tests.ops.table.row import Row, matrix

CUBE = (2, 3, 4)


def _rows(name: str, real: bool, several: bool) -> list[Row]:
    """A transform with its defaults and each of its arguments. `real` ones take real numbers only."""
    op, function = f"fft.{name}", _REFERENCES.get(name) or getattr(np.fft, name)
    row = functools.partial(Row, op, complex=not real)

    def variant(label: str, shape: tuple[int, ...], **keywords: Any) -> Row:
        if several and "s" in keywords:  # NumPy wants the dimensions to be told
            keywords.setdefault("dim", tuple(range(-len(keywords["s"]), 0)))
        axes = {"axes" if several else "axis": keywords["dim"]} if "dim" in keywords else {}
        others = {key: value for key, value in keywords.items() if key != "dim"}
        return row(matrix(shape=shape), lambda x: function(x, **axes, **others),
                   lambda lib, x: getattr(lib.fft, name)(x, **keywords), variant=label)

    size = "s" if several else "n"
    longer, shorter, dim = ((4, 5), (2, 3), (0, -1)) if several else (7, 3, 0)
    return [
        row(matrix(shape=CUBE if several else (3, 4)), function, out=True),
        variant("longer", CUBE, **{size: longer}), variant("shorter", CUBE, **{size: shorter}, norm="backward"),
        variant("dim", CUBE, dim=dim, norm="forward"), variant("odd", (3, 5), norm="ortho"),
        variant("all", (3, 4), **{size: longer}, dim=dim, norm="ortho"),
        *([] if name.endswith("n") else [dataclasses.replace(variant("empty batch", (0, 2, 4)), dtypes_differ=DTYPES)]),
    ]


def _hermitian(x: np.ndarray, s: Any = None, axes: Any = None, norm: str | None = None, *, inverse: bool) -> np.ndarray:
    """`hfftn` or `ihfftn`: NumPy has them in one dimension."""
    axes = tuple(range(-len(s), 0) if s is not None else range(x.ndim)) if axes is None else axes
    lengths = dict(zip(axes, s, strict=True)) if s is not None else {}
    last, rest = axes[-1], axes[:-1]
    if inverse:
        x = np.fft.ihfft(x, lengths.get(last), last, norm)
        for axis in rest:
            x = np.fft.ifft(x, lengths.get(axis), axis, norm)
        return x
    for axis in rest:
        x = np.fft.fft(x, lengths.get(axis), axis, norm)
    return np.fft.hfft(x, lengths.get(last), last, norm)


_REFERENCES = {
    "hfftn": functools.partial(_hermitian, inverse=False), "ihfftn": functools.partial(_hermitian, inverse=True),
    "hfft2": lambda x, s=None, axes=(-2, -1), norm=None: _hermitian(x, s, axes, norm, inverse=False),
    "ihfft2": lambda x, s=None, axes=(-2, -1), norm=None: _hermitian(x, s, axes, norm, inverse=True),
}

TRANSFORMS = [row for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for many in ("", "2", "n")
              for row in _rows(name + many, name in ("rfft", "ihfft"), bool(many))]

SHIFTS = [
    *[Row(f"fft.{name}", matrix(), getattr(np.fft, name), complex=True) for name in ("fftshift", "ifftshift")],
    *[Row(f"fft.{name}", matrix(shape=(3, 5)), functools.partial(lambda x, name: getattr(np.fft, name)(x, 1), name=name),
          functools.partial(lambda lib, x, name: getattr(lib.fft, name)(x, 1), name=name), variant="dim", complex=True)
      for name in ("fftshift", "ifftshift")],
]


def _frequencies(name: str, n: int) -> Row:
    return Row(f"fft.{name}", matrix(shape=()), lambda like: getattr(np.fft, name)(n, 0.5),
               lambda lib, like, **out: getattr(lib.fft, name)(n, d=0.5, dtype=lib.float64, device=like.device, **out),
               variant=str(n), smooth=False, out=True)


FREQUENCIES = [_frequencies(name, n) for name in ("fftfreq", "rfftfreq") for n in (5, 6)]

ROWS = TRANSFORMS + SHIFTS + FREQUENCIES
