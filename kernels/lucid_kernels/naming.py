"""Names of functions that other functions make."""
from __future__ import annotations

from typing import Any


def named(function: Any, name: str, documentation: str | None) -> Any:
    """`function` under a name of its own, which tracebacks and profilers show too, and with a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__doc__ = documentation
    return function
