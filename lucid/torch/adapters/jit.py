"""What programs for `torch.jit` call when they run as Python."""
from __future__ import annotations

import builtins
from types import UnionType
from typing import Any, Union, get_args, get_origin

__all__ = ["Attribute", "annotate", "isinstance"]


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value, which a compiler would take for one of that type."""
    return the_value


def Attribute(value: Any, type: Any) -> Any:
    """The value, which a compiler would take for an attribute of that type."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of a type, which may be a container of others, such as ``list[int]``."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, parts = get_origin(target_type), get_args(target_type)
    if target_type is None:
        return obj is None
    if origin is None:
        return target_type is Any or builtins.isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, each) for each in parts)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(key, parts[0]) and isinstance(value, parts[1]) for key, value in obj.items())
    if origin is tuple and not (len(parts) == 2 and parts[1] is Ellipsis):
        return len(obj) == len(parts) and all(isinstance(each, part) for each, part in zip(obj, parts, strict=True))
    return all(isinstance(each, parts[0]) for each in obj)
