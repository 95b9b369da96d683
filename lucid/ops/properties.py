"""What a tensor is, as functions and methods: its kind of elements, its device, whether it equals another in form."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, backends
from .._layout import Layout, strided
from ..autograd.views import is_conjugate
from ..tensor import Tensor, wrap
from ._methods import register
from ._operands import require_tensor

METHODS = ("is_nonzero", "is_same_size", "is_signed", "is_conj", "is_neg", "resolve_conj", "resolve_neg", "get_device",
           "pin_memory", "is_pinned")


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating-point type.

    >>> lucid.is_floating_point(lucid.ones(1)), lucid.is_floating_point(lucid.tensor([1]))
    (True, False)
    """
    return require_tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex.

    >>> lucid.is_complex(lucid.tensor([1j])), lucid.is_complex(lucid.tensor([1.0]))
    (True, False)
    """
    return require_tensor("is_complex", input).is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in `inference_mode`.

    >>> with lucid.inference_mode():
    ...     x = lucid.ones(1)
    >>> lucid.is_inference(x)
    True
    """
    return require_tensor("is_inference", input).is_inference()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype holds negative values.

    >>> lucid.is_signed(lucid.tensor([1])), lucid.is_signed(lucid.tensor([1], dtype=lucid.uint8))
    (True, False)
    """
    dtype = require_tensor("is_signed", input)._array.dtype
    return dtype.kind not in "bu" and dtype != _dtypes.float8_e8m0fnu


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero. Raises RuntimeError for more elements or none.

    >>> lucid.is_nonzero(lucid.tensor([0.0])), lucid.is_nonzero(lucid.tensor([2]))
    (False, True)
    """
    return bool(require_tensor("is_nonzero", input))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are equal.

    >>> lucid.is_same_size(lucid.ones(2, 3), lucid.zeros(2, 3))
    True
    """
    return bool(require_tensor("is_same_size", input)._array.shape == require_tensor("is_same_size", other)._array.shape)


def is_conj(input: Tensor) -> bool:
    """Whether a tensor is what `conj` gives, or a view of that.

    >>> lucid.is_conj(lucid.tensor([1j]).conj())
    True
    """
    return is_conjugate(require_tensor("is_conj", input))


def is_neg(input: Tensor) -> bool:
    """False: lucid negates at once.

    >>> lucid.is_neg(lucid.tensor([1 + 2j]).conj().imag)
    False
    """
    require_tensor("is_neg", input)
    return False


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, and a copy of what `conj` gives, which is a view.

    >>> lucid.resolve_conj(lucid.tensor([1 + 2j]).conj())
    Tensor([1.0-2.0j], requires_grad=False)
    """
    return input.clone() if is_conjugate(require_tensor("resolve_conj", input)) else input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: there are no pending signs.

    >>> lucid.resolve_neg(lucid.tensor([1 + 2j]).conj().imag)
    Tensor([-2.0], requires_grad=False)
    """
    return require_tensor("resolve_neg", input)


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> lucid.numel(lucid.zeros(2, 3))
    6
    """
    return require_tensor("numel", input).numel()


def get_device(input: Tensor) -> int:
    """The number of the GPU that the tensor is on; -1 for a tensor on the CPU.

    >>> lucid.get_device(lucid.ones(1))
    -1
    """
    device = require_tensor("get_device", input).device
    return (device.index or 0) if device.type == "gpu" else -1


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A row-major copy in pinned memory, from which ``.to('gpu', non_blocking=True)`` copies while the host goes on; the tensor
    itself if its memory is pinned. `device` is accepted: there is one kind of GPU.

    Raises RuntimeError for a tensor that is not on the CPU, or without a GPU.

    >>> lucid.ones(2).pin_memory().is_pinned()
    True
    """
    if self.device != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    memory = backends.gpu_module().memory
    return self if memory.is_pinned(self._array) else wrap(memory.pinned(self._array))


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is pinned.

    >>> lucid.ones(2).is_pinned()
    False
    """
    on_cpu = self.device == "cpu" and backends.gpu_is_used()
    return on_cpu and bool(backends.gpu_module().memory.is_pinned(self._array))


def detach(input: Tensor) -> Tensor:
    """The same memory without the graph.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> lucid.detach(x * 2)
    Tensor([2.0, 2.0], requires_grad=False)
    """
    return require_tensor("detach", input).detach()


def typename(obj: Any) -> str:
    """The name of the type of an object with its module; of a tensor the name of its tensor type, of a class its own.

    As 'lucid.FloatTensor' or 'lucid.nn.modules.linear.Linear'; builtins come without their module.

    >>> lucid.typename(lucid.zeros(1)), lucid.typename(3)
    ('lucid.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") and hasattr(obj, "__module__") else type(obj)
    module = named.__module__
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


def _is_cpu(self: Tensor) -> bool:
    """Whether the memory is on the host.

    >>> lucid.ones(2).is_cpu
    True
    """
    return self.device == "cpu"


def _layout(self: Tensor) -> Layout:
    """How the elements are kept: `strided`, in one memory, or one of the sparse layouts.

    >>> lucid.ones(2).layout
    lucid.strided
    """
    array = self._array
    found: Layout = strided if array.__class__ is np.ndarray else getattr(array, "sparse_layout", strided)
    return found


def _is_sparse(self: Tensor) -> bool:
    """Whether the layout is `sparse_coo`.

    >>> lucid.zeros(2).is_sparse, lucid.zeros(2).to_sparse().is_sparse
    (False, True)
    """
    return _layout(self) is Layout.sparse_coo


def _is_sparse_csr(self: Tensor) -> bool:
    """Whether the layout is `sparse_csr`.

    >>> lucid.zeros(2, 2).to_sparse_csr().is_sparse_csr
    True
    """
    return _layout(self) is Layout.sparse_csr


_NEVER = ("is_quantized", "is_nested", "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia",
          "is_vulkan", "is_xla", "is_xpu")
SPECIAL_METHODS: dict[str, Any] = {"ndimension": Tensor.dim, "is_cpu": property(_is_cpu), "layout": property(_layout),
                                 "is_sparse": property(_is_sparse), "is_sparse_csr": property(_is_sparse_csr),
                                   **dict.fromkeys(_NEVER, False)}


register(__name__)
