"""What the rules of all families share."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Kernel = Callable[..., Any]
Pair = tuple[int, int]
Sizes = tuple[int, ...]


def new_rules() -> tuple[dict[str, Kernel], Callable[[Kernel], Kernel]]:
    """Rules by the names of their operations, none at first, and a decorator that adds one: a function of that name."""
    rules: dict[str, Kernel] = {}

    def rule(function: Kernel) -> Kernel:
        rules[function.__name__] = function
        return function

    return rules, rule


def data_dependent(name: str) -> Kernel:
    """The rule of an operation whose shape depends on elements: it raises NotImplementedError."""
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        raise NotImplementedError(f"the shape that op '{name}' returns depends on elements, which tensors on the device "
                                  "'meta' do not have")

    return kernel
