"""`check_sparse_tensor_invariants`: PyTorch's switch for the checks of indices, which lucid always makes."""
from __future__ import annotations

import contextlib
from typing import Any


class check_sparse_tensor_invariants(contextlib.ContextDecorator):
    """A context manager, decorator and switch. It changes nothing but what `is_enabled` says: indices are always checked, as
    kernels read memory by them.

    >>> with lucid.sparse.check_sparse_tensor_invariants():
    ...     print(lucid.sparse.check_sparse_tensor_invariants.is_enabled())
    True
    """

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """What was set last."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Let `is_enabled` say True."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Let `is_enabled` say False."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> None:
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exception: Any) -> None:
        check_sparse_tensor_invariants._enabled = self._before.pop()
