"""`torch.utils._contextlib`, which libraries derive switches of their own from."""
from __future__ import annotations

from typing import Any

from lucid.autograd.grad_mode import DecoratingContext

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]


class _DecoratorContextManager(DecoratingContext):
    """A context manager that decorates functions, and generators during each of their steps, with what `clone` makes."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another one with the same arguments."""
        return self.__class__()

    def _fresh(self) -> Any:
        return self.clone()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without arguments, which decorates without parentheses too."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
