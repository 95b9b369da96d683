"""What a tensor is, as functions and methods: its kind of elements, its device, whether it equals another in form."""
from __future__ import annotations

from typing import Any

from .. import backends
from .._layout import Layout, strided
from ..tensor import Tensor, wrap
from ._methods import register
from ._operands import require_tensor

METHODS = ("is_nonzero", "is_same_size", "is_signed", "is_conj", "is_neg", "resolve_conj", "resolve_neg", "get_device",
           "pin_memory", "is_pinned")


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type."""
    return require_tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return require_tensor("is_complex", input).is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in `inference_mode`."""
    return require_tensor("is_inference", input).is_inference()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype holds negative values."""
    return bool(require_tensor("is_signed", input)._array.dtype.kind not in "bu")


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError for more elements or none."""
    return bool(require_tensor("is_nonzero", input))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal."""
    return bool(require_tensor("is_same_size", input)._array.shape == require_tensor("is_same_size", other)._array.shape)


def is_conj(input: Tensor) -> bool:
    """False: lucid computes conjugates at once."""
    require_tensor("is_conj", input)
    return False


def is_neg(input: Tensor) -> bool:
    """False: lucid negates at once."""
    require_tensor("is_neg", input)
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: there are no pending conjugates."""
    return require_tensor("resolve_conj", input)


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: there are no pending signs."""
    return require_tensor("resolve_neg", input)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return require_tensor("numel", input).numel()


def get_device(input: Tensor) -> int:
    """The number of the GPU that the tensor is on; -1 for a tensor on the CPU."""
    device = require_tensor("get_device", input).device
    return (device.index or 0) if device.type == "gpu" else -1


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A row-major copy in pinned memory, from which ``.to('gpu', non_blocking=True)`` copies while the host goes on; the tensor
    itself if its memory is pinned. `device` is accepted: there is one kind of GPU.

    Raises RuntimeError for a tensor that is not on the CPU, or without a GPU.
    """
    if self.device != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    memory = backends.gpu_module().memory
    return self if memory.is_pinned(self._array) else wrap(memory.pinned(self._array))


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned."""
    on_cpu = self.device == "cpu" and backends.gpu_is_used()
    return on_cpu and bool(backends.gpu_module().memory.is_pinned(self._array))


def detach(input: Tensor) -> Tensor:
    """The same memory without the graph."""
    return require_tensor("detach", input).detach()


def typename(obj: Any) -> str:
    """The name of the type of an object with its module; of a tensor the name of its tensor type, of a class its own.

    As 'lucid.FloatTensor' or 'lucid.nn.modules.linear.Linear'; builtins come without their module.
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") and hasattr(obj, "__module__") else type(obj)
    module = named.__module__
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def _is_cpu(self: Tensor) -> bool:
    """Whether the memory is on the host."""
    return self.device == "cpu"


def _layout(self: Tensor) -> Layout:
    """How the elements are kept: `strided`, in one memory, or one of the sparse layouts."""
    found: Layout = getattr(self._array, "sparse_layout", strided)
    return found


def _is_sparse(self: Tensor) -> bool:
    """Whether the layout is `sparse_coo`."""
    return _layout(self) is Layout.sparse_coo


def _is_sparse_csr(self: Tensor) -> bool:
    """Whether the layout is `sparse_csr`."""
    return _layout(self) is Layout.sparse_csr


_NEVER = ("is_quantized", "is_nested", "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia",
          "is_vulkan", "is_xla", "is_xpu")
SPECIAL_METHODS: dict[str, Any] = {"ndimension": Tensor.dim, "is_cpu": property(_is_cpu), "layout": property(_layout),
                                 "is_sparse": property(_is_sparse), "is_sparse_csr": property(_is_sparse_csr),
                                   **dict.fromkeys(_NEVER, False)}


register(__name__)
