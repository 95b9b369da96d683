"""Size: the shape of a tensor."""
from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple with `numel()`, as in PyTorch. Slices, sums and multiples of it are of its class too.

    >>> size = lucid.zeros(2, 3).shape
    >>> size, size.numel(), size[-1]
    (lucid.Size([2, 3]), 6, 3)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"lucid.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Size: ...

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: Any) -> Size:
        try:
            return Size(tuple(self) * operator.index(other))
        except TypeError:
            return NotImplemented

    def __rmul__(self, other: Any) -> Size:
        return self.__mul__(other)
