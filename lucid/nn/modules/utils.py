"""Sizes given as one number for all dimensions or as a sequence, with PyTorch's names for that."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any


def sizes(size: int | Iterable[int], dims: int) -> tuple[int, ...]:
    """``(3, 3)`` for 3 in 2 dimensions; a sequence as a tuple."""
    return tuple(size) if isinstance(size, Iterable) else (size,) * dims


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return sizes(x, n)

    parse.__name__ = name
    return parse


_single, _pair, _triple = _ntuple(1, "_single"), _ntuple(2, "_pair"), _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """The elements from the last to the first, each `n` times: widths for `functional.pad`."""
    return tuple(itertools.chain.from_iterable(itertools.repeat(x, n) for x in reversed(t)))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """`out_size`, with the last of `defaults` in the places of None."""
    if isinstance(out_size, int) or out_size is None:
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [given if given is not None else default
            for given, default in zip(out_size, defaults[-len(out_size):], strict=True)]


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """`device`, `dtype` and `memory_format` of the keywords of a constructor, also those in its keyword `factory_kwargs`.

    Raises TypeError for other keywords, and for one that is given twice.

    >>> nn.factory_kwargs({"dtype": lucid.float64})
    {'dtype': dtype('float64')}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    if not kwargs.keys() <= simple | {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - simple - {'factory_kwargs'}}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in sorted(simple & kwargs.keys()):
        if key in found:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        found[key] = kwargs[key]
    return found


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` off the keys of a state dict that begin with it, in place, and off those of its metadata: "module." is what
    `DataParallel` puts there.

    >>> from lucid.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = nn.DataParallel(nn.Linear(2, 3)).state_dict()
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['weight', 'bias']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)
