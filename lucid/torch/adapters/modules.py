"""Helpers of `torch.nn.modules` that libraries import."""
from __future__ import annotations

from typing import Any

from lucid.nn.modules.utils import sizes

__all__ = ["_list_with_default", "_quadruple"]


def _quadruple(x: Any) -> tuple[Any, ...]:
    """One number four times, and a sequence as it is."""
    return sizes(x, 4)


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """`out_size`, with the last of `defaults` where it has None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [given if given is not None else default
            for given, default in zip(out_size, defaults[-len(out_size):], strict=True)]


def _addindent(s_: str, numSpaces: int) -> str:
    """A text of several lines with all but the first indented."""
    first, *others = s_.split("\n")
    return "\n".join([first, *[" " * numSpaces + line for line in others]])


class _WrappedHook:
    """A hook of PyTorch's modules before their state is loaded, as it stands in pickles."""

    __module__ = "torch.nn.modules.module"

    def __init__(self, hook: Any, module: Any = None) -> None:
        self.hook, self.with_module = hook, False

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)


def __getattr__(name: str) -> Any:
    if name == "_IncompatibleKeys":
        import lucid

        return type(lucid.nn.Module().load_state_dict({}))
    raise AttributeError(name)
