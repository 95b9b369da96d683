"""TensorBase: what a tensor holds, and the attributes that tell of it."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import _dtypes, _recording, backends
from ..backends.memory_format import MemoryFormat, contiguous_format, is_contiguous
from .size import Size
from .version import Version, write_count

if TYPE_CHECKING:
    from .._tensor_methods import TensorMethods
    from . import Tensor
else:
    TensorMethods = object  # its methods are those that lucid.ops attaches


class Answer(int):
    """True or False that can be called as well."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


_YES, _NO = Answer(True), Answer(False)


class TensorBase(TensorMethods):
    """The array of a tensor, its place in the graph and its attributes: the base of Tensor, which alone is made."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_grad", "_node", "_version_box", "_view")
    _replaceable = False  # whether other memory, with a history of its own, may be put behind the object
    _pickled_with_memory = False  # whether the pickle of a slice holds all the memory that it is a slice of

    _array: Any
    _node: Any
    _grad: Tensor | None
    _version_box: Version | None
    _view: tuple[Tensor, Callable[[Tensor], Tensor]] | None
    _refuse_grad: Callable[[], None]
    _share_conjugates: Callable[[Tensor], None]

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions, a tuple.

        >>> lucid.zeros(2, 3).shape
        lucid.Size([2, 3])
        """
        return Size(self._array.shape)

    @property
    def dtype(self) -> np.dtype:
        """The element type, a NumPy dtype object.

        >>> lucid.ones(2).dtype, lucid.tensor([1]).dtype
        (dtype('float32'), dtype('int64'))
        """
        dtype: np.dtype = self._array.dtype
        return dtype

    @property
    def device(self) -> backends.Device:
        """Where the memory is; compares equal to 'cpu', 'gpu', 'gpu:1'.

        >>> lucid.ones(2).device
        device(type='cpu')
        """
        return backends.device_of(self._array)

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        >>> lucid.zeros(2, 3).ndim
        2
        """
        return int(self._array.ndim)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a GPU.

        >>> lucid.ones(2).is_cuda
        False
        """
        return self._array.__class__ is not np.ndarray and self.device.type == "gpu"

    @property
    def is_gpu(self) -> Answer:
        """Whether the memory is on a GPU: as an attribute, and as the method that it is in lucid 2.x.

        >>> lucid.ones(2).is_gpu
        False
        """
        return _YES if self._array.__class__ is not np.ndarray and self.device.type == "gpu" else _NO

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the device 'meta': it has shape and dtype, but no memory.

        >>> lucid.ones(2, device="meta").is_meta
        True
        """
        return self._array.__class__ is not np.ndarray and self.device.type == "meta"

    @property
    def itemsize(self) -> int:
        """Bytes of one element.

        >>> lucid.zeros(2, 3).itemsize
        4
        """
        return int(self._array.itemsize)

    def element_size(self) -> int:
        """Bytes of one element.

        >>> lucid.zeros(2, 3).element_size()
        4
        """
        return int(self._array.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> lucid.zeros(2, 3).nbytes
        24
        """
        return int(self._array.nbytes)

    def dim(self) -> int:
        """The number of dimensions.

        >>> lucid.zeros(2, 3).dim()
        2
        """
        return int(self._array.ndim)

    @overload
    def size(self, dim: None = None) -> Size: ...

    @overload
    def size(self, dim: int) -> int: ...

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of dimension `dim`. Raises IndexError if there is no such dimension.

        >>> lucid.zeros(2, 3).size(), lucid.zeros(2, 3).size(1)
        (lucid.Size([2, 3]), 3)
        """
        shape = self._array.shape
        if dim is None:
            return Size(shape)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], "
                             f"but got {dim})")
        return int(shape[dim])

    def numel(self) -> int:
        """The number of elements.

        >>> lucid.zeros(2, 3).nelement()
        6
        """
        return int(self._array.size)

    nelement = numel

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def stride(self, dim: int) -> int: ...

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension, or along `dim`, counted in elements.

        >>> lucid.zeros(2, 3).stride(), lucid.zeros(2, 3).T.stride()
        ((3, 1), (1, 3))
        """
        steps = tuple(step // self._array.itemsize for step in self._array.strides)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in memory without gaps, in row-major order or in `memory_format`.

        >>> lucid.zeros(2, 3).is_contiguous(), lucid.zeros(2, 3).T.is_contiguous()
        (True, False)
        """
        return is_contiguous(self._array, memory_format)

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating-point type.

        >>> lucid.tensor([1.0]).is_floating_point(), lucid.tensor([1]).is_floating_point()
        (True, False)
        """
        return _dtypes.is_floating(self.dtype)

    def is_complex(self) -> bool:
        """Whether the dtype is complex.

        >>> lucid.tensor([1j]).is_complex()
        True
        """
        return bool(self.dtype.kind == "c")

    @property
    def _version(self) -> int:
        _recording.refuse("Python reads how often a tensor has been written")
        return write_count(self)

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view[0]

    def is_inference(self) -> bool:
        """Whether the tensor was made in `inference_mode`.

        >>> with lucid.inference_mode():
        ...     x = lucid.ones(2)
        >>> x.is_inference()
        True
        """
        return self._version_box is not None and self._version_box.inference

    def is_distributed(self) -> bool:
        """Whether its elements are those of several processes: never.

        >>> lucid.ones(1).is_distributed()
        False
        """
        return False
