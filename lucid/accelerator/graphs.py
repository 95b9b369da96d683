"""`Graph`: captured work of a GPU, by PyTorch's name for whatever accelerates."""
from __future__ import annotations

from typing import Any, Self

from .. import gpu

__all__ = ["Graph"]


class Graph(gpu.CUDAGraph):
    """`lucid.gpu.CUDAGraph` that knows its `pool` and mode of errors, and captures the current stream as a context.

    >>> x = lucid.zeros(3, device="gpu")
    >>> graph = lucid.accelerator.Graph()
    >>> with lucid.gpu.Stream(), graph:
    ...     y = x + 1
    >>> graph.replay()
    >>> y
    Tensor([1.0, 1.0, 1.0], device='gpu:0', requires_grad=False)
    """

    def __init__(self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default") -> None:
        super().__init__(keep_graph)
        self.graph_pool, self.capture_error_mode = pool, capture_error_mode

    def capture_begin(self, pool: Any = None, capture_error_mode: str | None = None) -> None:
        """Begin to capture the current stream, which must not be the default one."""
        mode = self.capture_error_mode if capture_error_mode is None else capture_error_mode
        super().capture_begin(self.graph_pool if pool is None else pool, "global" if mode == "default" else mode)

    def instantiate(self) -> None:
        """Make what is replayed: the end of the capture has done so. Raises RuntimeError without one."""
        self.pool()

    def __enter__(self) -> Self:
        self.capture_begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.capture_end()
        else:
            self._abandon()
