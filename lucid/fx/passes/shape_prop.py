"""The shapes and dtypes of the values of a graph, for given arguments."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...backends.memory_format import channels_last, channels_last_3d, contiguous_format
from ...tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What one knows of a tensor without its elements. `is_quantized` is False, and `qparams` empty.

    >>> traced = lucid.fx.symbolic_trace(lambda x: x.sum(0))
    >>> lucid.fx.passes.ShapeProp(traced).propagate(lucid.ones(2, 3)).shape
    lucid.Size([3])
    >>> isinstance(traced.graph.output_node().meta["tensor_meta"], lucid.fx.passes.TensorMetadata)
    True
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool = False
    qparams: dict[str, Any] = {}  # noqa: RUF012  # nothing is ever put into it


def _described(tensor: Tensor) -> TensorMetadata:
    formats = [each for each in (contiguous_format, channels_last, channels_last_3d)
               if tensor.ndim == {channels_last: 4, channels_last_3d: 5}.get(each, tensor.ndim)]
    layout = next((each for each in formats if tensor.is_contiguous(memory_format=each)), None)
    return TensorMetadata(tensor.shape, tensor.dtype, tensor.requires_grad, tuple(tensor.stride()), layout)


class ShapeProp(Interpreter):
    """Runs a graph and notes of each value, in the `meta` of its node, ``"type"`` and, of tensors also in containers,
    ``"tensor_meta"``, a `TensorMetadata`. With arguments on the device 'meta' no element is computed.

    >>> traced = lucid.fx.symbolic_trace(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()).to("meta"))
    >>> _ = lucid.fx.passes.ShapeProp(traced).propagate(lucid.empty(5, 1, 8, 8, device="meta"))
    >>> {node.name: tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes}
    {'input_1': (5, 1, 8, 8), '_0': (5, 2, 6, 6), '_1': (5, 72), 'output': (5, 72)}
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: there are no fake tensors; arguments and parameters on the device 'meta' have "
                                      "no elements")

    def run_node(self, n: Node) -> Any:
        """The value of a node, after it was noted. Raises RuntimeError, with the node, where it cannot be computed."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def described(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _described(value)

        metadata = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """What the graph gives for arguments, after all values were noted."""
        return super().run(*args)
