"""Curves, pictures and texts of a training: tensorboardX's `SummaryWriter`, which takes tensors of lucid too.

The class is made when it is first asked for; without tensorboardX that raises ImportError, which says what to install.
"""
from __future__ import annotations

import functools
from typing import Any

from ..tensor import Tensor


def _plain(value: Any) -> Any:
    """Tensors as NumPy arrays, also in containers."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if value.__class__ in (list, tuple):
        return value.__class__(map(_plain, value))
    return value


@functools.cache
def _writer(plain: Any) -> Any:
    class SummaryWriter(plain):  # type: ignore[misc]
        """tensorboardX's, with the methods ``add_scalar(tag, value, step)`` and others; `add_graph` draws no networks of lucid.

        >>> writer = SummaryWriter("runs/first")
        >>> writer.add_scalar("loss", loss, step)
        """

        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            if not name.startswith("add_"):
                return found

            @functools.wraps(found)
            def adding(*args: Any, **keywords: Any) -> Any:
                return found(*map(_plain, args), **_plain(keywords))

            return adding

        def add_graph(self, *args: Any, **keywords: Any) -> None:
            """Raises NotImplementedError: a model is Python code, and leaves no graph of its operations."""
            raise NotImplementedError("add_graph: a model of lucid is Python code, and leaves no graph of its operations")

    return SummaryWriter


def __getattr__(name: str) -> Any:
    if name != "SummaryWriter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise ImportError("lucid.utils.tensorboard needs tensorboardX: pip install tensorboardX, or pip install "
                          "lucid[tensorboard]") from error
    return _writer(SummaryWriter)
