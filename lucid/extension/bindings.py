"""What the arguments of a kernel mean, by their names.

Inputs, outputs, workspace and scalars have the names of the signature. Besides, a kernel may ask for

- `rows`, `columns`: the last dimension of the first input, and how many such rows it has; `size`: its number of elements;
- `x_size`, `x_ndim`, `x_dim0`, `x_stride0` (in elements) of any array, the last dimension being `x_dim_1`;
- `has_bias`: 1 or 0, whether an optional input is given.
"""
from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

_OF_ARRAY = re.compile(r"^(?P<array>\w+?)_(?P<what>size|ndim|dim|stride)(?P<last>_)?(?P<axis>\d+)?$")
_OF_FIRST = ("rows", "columns", "size")


class Bindings:
    """The values of one call by name. `results` are the names of outputs."""

    def __init__(self, operation: str, first: str, arrays: dict[str, Any], scalars: Mapping[str, Any],
                 results: Collection[str] = ()) -> None:
        self.operation, self.first, self.arrays, self.scalars, self.results = operation, first, arrays, scalars, results

    def has(self, name: str) -> bool:
        """Whether a kernel may have an argument `name`."""
        if name in self.arrays or name in self.scalars or name in _OF_FIRST:
            return True
        match = _OF_ARRAY.match(name)
        return (name.startswith("has_") and name[4:] in self.arrays) or (match is not None and match["array"] in self.arrays)

    def unknown(self, name: str) -> str:
        """Why there is no argument `name`, and which there are."""
        return (f"a kernel asks for '{name}', which is none of {', '.join([*self.arrays, *self.scalars])}, rows, columns, size, "
                "x_size, x_ndim, x_dim0, x_stride0 and has_x, for an array x")

    def __call__(self, name: str) -> Any:
        """The value of the argument `name`. Raises TypeError that says which names there are."""
        if name in self.arrays:
            return self.arrays[name]
        if name in self.scalars:
            return self.scalars[name]
        first = self.arrays[self.first]
        if name == "size":
            return first.size
        if name == "columns":
            return first.shape[-1] if first.ndim else 1
        if name == "rows":
            return math.prod(first.shape[:-1])
        if name.startswith("has_") and name[4:] in self.arrays:
            return int(self.arrays[name[4:]] is not None)
        match = _OF_ARRAY.match(name)
        if match is not None and match["array"] in self.arrays:
            return self._of(self.arrays[match["array"]], name, match)
        raise TypeError(f"op '{self.operation}': {self.unknown(name)}")

    def _of(self, array: Any, name: str, match: re.Match[str]) -> int:
        if array is None:
            return 0
        if match["what"] in ("size", "ndim"):
            return int(getattr(array, match["what"]))
        axis = int(match["axis"] or 0) * (-1 if match["last"] else 1)
        if not -array.ndim <= axis < array.ndim:
            raise TypeError(f"op '{self.operation}': a kernel asks for {name}, but the array has {array.ndim} dimensions")
        return int(array.shape[axis] if match["what"] == "dim" else array.strides[axis] // array.dtype.itemsize)
