"""What the namespace says of itself."""
from __future__ import annotations

from typing import Any

import lucid

from ._dtypes import KINDS

__all__ = ["Info", "__array_namespace_info__"]


class Info:
    """The devices, dtypes and abilities of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """What it can do, and the largest number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The device of new arrays."""
        return lucid.get_default_device()

    def devices(self) -> list[Any]:
        """The CPU and the GPUs; the device 'meta' holds no elements, and is none of the standard's."""
        return [lucid.device("cpu"), *[lucid.device("gpu", index) for index in range(lucid.gpu.device_count())]]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays by their kinds, the same on every device."""
        real = lucid.get_default_dtype()
        parts = lucid.complex128 if real == lucid.float64 else lucid.complex64
        return {"real floating": real, "complex floating": parts, "integral": lucid.int64, "indexing": lucid.int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes by their names, all or those of a kind or of a tuple of kinds, the same on every device."""
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        unknown = [one for one in kinds if one not in KINDS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a kind of dtypes; these are {', '.join(KINDS)}")
        return {dtype.name: dtype for one in kinds for dtype in KINDS[one]}


def __array_namespace_info__() -> Info:
    """What the namespace says of itself: its devices, dtypes and abilities."""
    return Info()
