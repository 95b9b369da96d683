"""The methods that `lucid.ops` gives to Tensor. Written by `python -m tests.typing.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, overload

import numpy as np

from lucid._layout import Layout
from lucid.autograd.engine import Tensors
from lucid.ops.elementwise.arithmetic import Operand
from lucid.ops.elementwise.float_parts import Frexp
from lucid.ops.elementwise.ternary import Weight
from lucid.ops.linalg.det import SlogDet
from lucid.ops.linalg.qr_svd import GEQRF
from lucid.ops.linalg.qr_svd import OldSVD
from lucid.ops.linalg.qr_svd import QR
from lucid.ops.linalg.triangular import TriangularSolution
from lucid.ops.manipulation.storage import TypedStorage
from lucid.ops.manipulation.storage import UntypedStorage
from lucid.ops.reduction.max_min import MinMax
from lucid.ops.reduction.selection import ValuesIndices
from lucid.ops.sorting.histogram import Histogram
from lucid.tensor import Tensor

class TensorMethods:
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of one matrix (the property `H`), a view; a number is its own.

        >>> lucid.tensor([[1 + 1j, 2], [3, 4]]).H
        Tensor([[1.0-1.0j, 3.0-0.0j],
                [2.0-0.0j, 4.0-0.0j]], requires_grad=False)
        """
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order (the property `T`).

        >>> lucid.tensor([[1, 2], [3, 4]]).T
        Tensor([[1, 3],
                [2, 4]], requires_grad=False)
        """
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Operand, *, alpha: Any = 1) -> Self: ...
    def __iand__(self, other: Any) -> Self: ...
    def __ifloordiv__(self, other: Operand) -> Self: ...
    def __ilshift__(self, other: Any) -> Self: ...
    def __imod__(self, other: Operand) -> Self: ...
    def __imul__(self, other: Any) -> Self: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any) -> Self: ...
    def __ipow__(self, exponent: Operand) -> Self: ...
    def __irshift__(self, other: Any) -> Self: ...
    def __isub__(self, other: Operand, *, alpha: Any = 1) -> Self: ...
    def __itruediv__(self, other: Operand, *, rounding_mode: str | None = None) -> Self: ...
    def __ixor__(self, other: Any) -> Self: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, exponent: Operand) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rpow__(self, exponent: Operand) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Operand, *, alpha: Any = 1) -> Tensor: ...
    def __rtruediv__(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def abs(self) -> Tensor:
        """The absolute value; of complex elements, their modulus. The gradient at 0 is 0. Raises NotImplementedError for bools.

        >>> lucid.abs(lucid.tensor([-1.5, 0.0, 2.0]))
        Tensor([1.5, 0.0, 2.0], requires_grad=False)
        >>> lucid.abs(lucid.tensor([3 + 4j]))
        Tensor([5.0], requires_grad=False)
        """
    def abs_(self) -> Self:
        """`abs`, written into this tensor. See there."""
    def absolute(self) -> Tensor:
        """The absolute value; of complex elements, their modulus. The gradient at 0 is 0. Raises NotImplementedError for bools.

        >>> lucid.abs(lucid.tensor([-1.5, 0.0, 2.0]))
        Tensor([1.5, 0.0, 2.0], requires_grad=False)
        >>> lucid.abs(lucid.tensor([3 + 4j]))
        Tensor([5.0], requires_grad=False)
        """
    def absolute_(self) -> Self:
        """`abs`, written into this tensor. See there."""
    def acos(self) -> Tensor:
        """The angle, in radians from 0 to pi, whose cosine is each element; NaN outside [-1, 1].

        >>> lucid.acos(lucid.tensor([-1.0, 0.0, 1.0, 2.0]))
        Tensor([3.1416, 1.5708, 0.0000,    nan], requires_grad=False)
        """
    def acos_(self) -> Self:
        """`acos`, written into this tensor. See there."""
    def acosh(self) -> Tensor:
        """The number, not negative, whose hyperbolic cosine is each element; NaN below 1.

        >>> lucid.acosh(lucid.tensor([1.0, 2.0, 0.5]))
        Tensor([0.000, 1.317,   nan], requires_grad=False)
        """
    def acosh_(self) -> Self:
        """`acosh`, written into this tensor. See there."""
    def add(self, other: Operand, *, alpha: Any = 1) -> Tensor:
        """``input + alpha * other``, elementwise with broadcasting. Of two bool tensors `alpha` counts as a bool.

        Raises RuntimeError for an `alpha` of a kind that the result has not: a float for integers.

        >>> lucid.add(lucid.tensor([1, 2]), lucid.tensor([10, 20]), alpha=2)
        Tensor([21, 42], requires_grad=False)
        >>> lucid.tensor([[1.0], [2.0]]) + lucid.tensor([0.5, 0.25])
        Tensor([[1.50, 1.25],
                [2.50, 2.25]], requires_grad=False)
        """
    def add_(self, other: Operand, *, alpha: Any = 1) -> Self:
        """`add`, written into this tensor. See there."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * sum(batch1[i] @ batch2[i])`` of stacks (b, n, k) and (b, k, m); `input` is broadcast.

        Raises RuntimeError if sizes or dtypes do not fit.

        >>> lucid.addbmm(lucid.ones(1), lucid.ones(3, 2, 4), lucid.ones(3, 4, 2))
        Tensor([[13.0, 13.0],
                [13.0, 13.0]], requires_grad=False)
        """
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """`addbmm`, written into this tensor. See there."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``, elementwise with broadcasting. Raises RuntimeError for integers, as PyTorch does.

        >>> lucid.addcdiv(lucid.zeros(2), lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 5.0]), value=10)
        Tensor([2.5, 4.0], requires_grad=False)
        """
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Self:
        """`addcdiv`, written into this tensor. See there."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``, elementwise with broadcasting. Raises NotImplementedError for bools.

        >>> lucid.addcmul(lucid.zeros(2), lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 5.0]), value=10)
        Tensor([ 40.0, 100.0], requires_grad=False)
        """
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Self:
        """`addcmul`, written into this tensor. See there."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``; `input` is broadcast. Raises RuntimeError if sizes or dtypes do not fit.

        >>> lucid.addmm(lucid.tensor([10.0, 20.0]), lucid.ones(2, 3), lucid.ones(3, 2), beta=1, alpha=2)
        Tensor([[16.0, 26.0],
                [16.0, 26.0]], requires_grad=False)
        """
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """`addmm`, written into this tensor. See there."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``; `input` is broadcast. Raises RuntimeError if sizes or dtypes do not fit.

        >>> lucid.addmv(lucid.tensor([10.0, 20.0]), lucid.ones(2, 3), lucid.ones(3))
        Tensor([13.0, 23.0], requires_grad=False)
        """
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """`addmv`, written into this tensor. See there."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``; `input` is broadcast and dtypes are promoted. For bools, plus is "or" and
        times is "and". Raises RuntimeError for other shapes, and for factors of another kind than the dtypes.

        >>> lucid.addr(lucid.zeros(2, 3), lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 10.0, 100.0]))
        Tensor([[  1.0,  10.0, 100.0],
                [  2.0,  20.0, 200.0]], requires_grad=False)
        """
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """`addr`, written into this tensor. See there."""
    def adjoint(self) -> Tensor:
        """The conjugate transposes of matrices; of a number its conjugate, which is deprecated. Raises RuntimeError for a vector.

        >>> lucid.adjoint(lucid.tensor([[1 + 1j, 2], [3, 4 - 1j]]))
        Tensor([[1.0-1.0j, 3.0-0.0j],
                [2.0-0.0j, 4.0+1.0j]], requires_grad=False)
        """
    def all(self, dim: Any = None, keepdim: builtins.bool = False, *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """Whether all elements over `dim` are not zero, as bool (uint8 for uint8).

        >>> lucid.all(lucid.tensor([[True, True], [True, False]]), dim=1)
        Tensor([ True, False], requires_grad=False)
        """
    def allclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08,
                 equal_nan: builtins.bool = False) -> builtins.bool:
        """Whether all elements are close; see `isclose`.

        >>> lucid.allclose(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 2.0 + 1e-6]))
        True
        >>> lucid.allclose(lucid.tensor([float("nan")]), lucid.tensor([float("nan")]))
        False
        """
    def amax(self, dim: Any = None, keepdim: builtins.bool = False, *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The largest elements over `dim`; NaN wins. Elements that tie share the gradient evenly.

        >>> lucid.amax(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=1)
        Tensor([5, 7], requires_grad=False)
        """
    def amin(self, dim: Any = None, keepdim: builtins.bool = False, *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The smallest elements over `dim`; NaN wins. Elements that tie share the gradient evenly.

        >>> lucid.amin(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=(0, 1))
        Tensor(0, requires_grad=False)
        """
    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False, axis: Any = ...,
                keepdims: Any = ...) -> MinMax:
        """The named tuple (min, max) of the smallest and largest elements along `dim`, or of all; NaN wins.

        Elements that tie share the gradient evenly.

        >>> lucid.aminmax(lucid.tensor([3, 1, 2]))
        MinMax(min=Tensor(1, requires_grad=False), max=Tensor(3, requires_grad=False))
        """
    def angle(self) -> Tensor:
        """The argument of complex elements, in radians; of real ones, pi below 0 and 0 elsewhere.

        >>> lucid.angle(lucid.tensor([1j, -1 + 0j, 1 + 1j]))
        Tensor([1.5708, 3.1416, 0.7854], requires_grad=False)
        """
    def any(self, dim: Any = None, keepdim: builtins.bool = False, *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """Whether any element over `dim` is not zero, as bool (uint8 for uint8).

        >>> lucid.any(lucid.tensor([[False, True], [False, False]]), dim=1)
        Tensor([ True, False], requires_grad=False)
        """
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element ``x`` by ``callable(x)``. Raises TypeError on another device than the CPU.

        >>> lucid.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
        Tensor([10.0, 20.0], requires_grad=False)
        """
    def arccos(self) -> Tensor:
        """The angle, in radians from 0 to pi, whose cosine is each element; NaN outside [-1, 1].

        >>> lucid.acos(lucid.tensor([-1.0, 0.0, 1.0, 2.0]))
        Tensor([3.1416, 1.5708, 0.0000,    nan], requires_grad=False)
        """
    def arccos_(self) -> Self:
        """`acos`, written into this tensor. See there."""
    def arccosh(self) -> Tensor:
        """The number, not negative, whose hyperbolic cosine is each element; NaN below 1.

        >>> lucid.acosh(lucid.tensor([1.0, 2.0, 0.5]))
        Tensor([0.000, 1.317,   nan], requires_grad=False)
        """
    def arccosh_(self) -> Self:
        """`acosh`, written into this tensor. See there."""
    def arcsin(self) -> Tensor:
        """The angle, in radians from -pi/2 to pi/2, whose sine is each element; NaN outside [-1, 1].

        >>> lucid.asin(lucid.tensor([-1.0, 0.5, 1.0]))
        Tensor([-1.5708,  0.5236,  1.5708], requires_grad=False)
        """
    def arcsin_(self) -> Self:
        """`asin`, written into this tensor. See there."""
    def arcsinh(self) -> Tensor:
        """The number whose hyperbolic sine is each element.

        >>> lucid.asinh(lucid.tensor([-1.0, 0.0, 10.0]))
        Tensor([-0.8814,  0.0000,  2.9982], requires_grad=False)
        """
    def arcsinh_(self) -> Self:
        """`asinh`, written into this tensor. See there."""
    def arctan(self) -> Tensor:
        """The angle, in radians, whose tangent is each element.

        >>> lucid.atan(lucid.tensor([-1.0, 0.0, float("inf")]))
        Tensor([-0.7854,  0.0000,  1.5708], requires_grad=False)
        """
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the points (other, input), in radians from -pi to pi; integers give the default float dtype.

        >>> lucid.arctan2(lucid.tensor([1.0, -1.0]), lucid.tensor([-1.0, 1.0]))
        Tensor([ 2.3562, -0.7854], requires_grad=False)
        """
    def arctan2_(self, other: Tensor) -> Self:
        """`atan2`, written into this tensor. See there."""
    def arctan_(self) -> Self:
        """`atan`, written into this tensor. See there."""
    def arctanh(self) -> Tensor:
        """The number whose hyperbolic tangent is each element; infinite at -1 and 1, NaN beyond.

        >>> lucid.atanh(lucid.tensor([-1.0, 0.0, 0.5]))
        Tensor([  -inf, 0.0000, 0.5493], requires_grad=False)
        """
    def arctanh_(self) -> Self:
        """`atanh`, written into this tensor. See there."""
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, axis: Any = ...,
               keepdims: Any = ...) -> Tensor:
        """The int64 index of the first largest element along `dim`, or of the flattened tensor; NaN is the largest.

        >>> lucid.argmax(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=1)
        Tensor([1, 0], requires_grad=False)
        """
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, axis: Any = ...,
               keepdims: Any = ...) -> Tensor:
        """The int64 index of the first smallest element along `dim`, or of the flattened tensor; NaN is the smallest.

        >>> lucid.argmin(lucid.tensor([[1, 5, 2], [7, 0, 7]]))
        Tensor(4, requires_grad=False)
        >>> lucid.argmin(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=0, keepdim=True)
        Tensor([[0, 1, 0]], requires_grad=False)
        """
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *,
                axis: Any = ...) -> Tensor:
        """The int64 indices that sort along `dim`; equal elements keep their order.

        >>> lucid.argsort(lucid.tensor([3, 1, 2]))
        Tensor([1, 2, 0], requires_grad=False)
        >>> lucid.argsort(lucid.tensor([3, 1, 2]), descending=True)
        Tensor([0, 2, 1], requires_grad=False)
        """
    def argwhere(self) -> Tensor:
        """The int64 indices of the elements that are not zero, a row for each. Waits for a GPU.

        >>> lucid.argwhere(lucid.tensor([[0, 1], [2, 0]]))
        Tensor([[0, 1],
                [1, 0]], requires_grad=False)
        """
    def as_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int],
                   storage_offset: builtins.int | None = None) -> Tensor:
        """A view of the memory of `input` with lengths `size` and steps `stride`, counted in elements.

        `storage_offset` counts from the start of the memory; by default the view starts where `input` does. Elements may share
        memory; their gradients add up. Raises RuntimeError for negative steps and for what reaches out of the memory.

        >>> lucid.as_strided(lucid.arange(6), (2, 3), (1, 2))
        Tensor([[0, 2, 4],
                [1, 3, 5]], requires_grad=False)
        """
    def as_strided_(self, size: Sequence[builtins.int], stride: Sequence[builtins.int],
                    storage_offset: builtins.int | None = None) -> Self:
        """`as_strided` of this tensor itself: the memory stays, its shape changes."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int],
                           storage_offset: builtins.int | None = None) -> Tensor:
        """A copy of `input` with `src` written where ``as_strided(size, stride, storage_offset)`` would read.

        >>> lucid.as_strided_scatter(lucid.zeros(5), lucid.ones(2), (2,), (2,), 1)
        Tensor([0.0, 1.0, 0.0, 1.0, 0.0], requires_grad=False)
        """
    def asin(self) -> Tensor:
        """The angle, in radians from -pi/2 to pi/2, whose sine is each element; NaN outside [-1, 1].

        >>> lucid.asin(lucid.tensor([-1.0, 0.5, 1.0]))
        Tensor([-1.5708,  0.5236,  1.5708], requires_grad=False)
        """
    def asin_(self) -> Self:
        """`asin`, written into this tensor. See there."""
    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine is each element.

        >>> lucid.asinh(lucid.tensor([-1.0, 0.0, 10.0]))
        Tensor([-0.8814,  0.0000,  2.9982], requires_grad=False)
        """
    def asinh_(self) -> Self:
        """`asinh`, written into this tensor. See there."""
    def atan(self) -> Tensor:
        """The angle, in radians, whose tangent is each element.

        >>> lucid.atan(lucid.tensor([-1.0, 0.0, float("inf")]))
        Tensor([-0.7854,  0.0000,  1.5708], requires_grad=False)
        """
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the points (other, input), in radians from -pi to pi; integers give the default float dtype.

        >>> lucid.arctan2(lucid.tensor([1.0, -1.0]), lucid.tensor([-1.0, 1.0]))
        Tensor([ 2.3562, -0.7854], requires_grad=False)
        """
    def atan2_(self, other: Tensor) -> Self:
        """`atan2`, written into this tensor. See there."""
    def atan_(self) -> Self:
        """`atan`, written into this tensor. See there."""
    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent is each element; infinite at -1 and 1, NaN beyond.

        >>> lucid.atanh(lucid.tensor([-1.0, 0.0, 0.5]))
        Tensor([  -inf, 0.0000, 0.5493], requires_grad=False)
        """
    def atanh_(self) -> Self:
        """`atanh`, written into this tensor. See there."""
    def backward(self, gradient: Tensor | None = None, retain_graph: builtins.bool | None = None,
                 create_graph: builtins.bool = False, inputs: Tensors | None = None) -> None:
        """Accumulate the gradients of this tensor into `.grad` of the leaves; see `lucid.autograd.backward`.

        >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        Tensor([2.0, 4.0], requires_grad=False)
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` of stacks (b, n, k) and (b, k, m); `input` is broadcast.

        Raises RuntimeError if sizes or dtypes do not fit.

        >>> lucid.baddbmm(lucid.ones(1, 1, 1), lucid.ones(2, 1, 3), lucid.ones(2, 3, 2))
        Tensor([[[4.0, 4.0]],
        <BLANKLINE>
                [[4.0, 4.0]]], requires_grad=False)
        """
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """`baddbmm`, written into this tensor. See there."""
    def bernoulli(self, p: builtins.float | None = None, *, generator: Any = None) -> Tensor:
        """1 with the probability that each element gives (or `p` for all), else 0, in the dtype of `input`.

        Raises RuntimeError for probabilities outside [0, 1].

        >>> lucid.bernoulli(lucid.tensor([0.0, 1.0, 1.0]))
        Tensor([0.0, 1.0, 1.0], requires_grad=False)
        """
    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Self:
        """Fill with 1 with probability `p` (a number or a tensor that broadcasts), else 0. Not for complex tensors."""
    def bfloat16(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as bfloat16. Itself if it has that dtype already.

        >>> lucid.tensor([1.0]).bfloat16().element_size()
        2
        """
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """How often each integer from 0 to the largest of the vector `input`, at least up to ``minlength - 1``, appears in it.

        With `weights`, the sums of them: float64, or float32 if they are. Raises RuntimeError for negative elements and for other
        shapes than a vector.

        >>> lucid.bincount(lucid.tensor([0, 1, 1, 3]))
        Tensor([1, 2, 0, 1], requires_grad=False)
        >>> lucid.bincount(lucid.tensor([0, 1, 1]), weights=lucid.tensor([1.0, 0.5, 0.25]))
        Tensor([1.00, 0.75], requires_grad=False)
        """
    def bitwise_and(self, other: Any) -> Tensor:
        """``input & other``. Raises NotImplementedError for floats.

        >>> lucid.bitwise_and(lucid.tensor([12, 10]), 6)
        Tensor([4, 2], requires_grad=False)
        """
    def bitwise_and_(self, other: Any) -> Self:
        """`bitwise_and`, written into this tensor. See there."""
    def bitwise_left_shift(self, other: Any) -> Tensor:
        """``input << other``; 0 for negative counts and beyond the width. Raises NotImplementedError for other dtypes.

        >>> lucid.bitwise_left_shift(lucid.tensor([1, 3]), 2)
        Tensor([ 4, 12], requires_grad=False)
        """
    def bitwise_left_shift_(self, other: Any) -> Self:
        """`bitwise_left_shift`, written into this tensor. See there."""
    def bitwise_not(self) -> Tensor:
        """``~input``. Raises NotImplementedError for floats.

        >>> lucid.bitwise_not(lucid.tensor([0, 5, -1]))
        Tensor([-1, -6,  0], requires_grad=False)
        >>> ~lucid.tensor([True, False])
        Tensor([False,  True], requires_grad=False)
        """
    def bitwise_not_(self) -> Self:
        """`bitwise_not`, written into this tensor. See there."""
    def bitwise_or(self, other: Any) -> Tensor:
        """``input | other``. Raises NotImplementedError for floats.

        >>> lucid.bitwise_or(lucid.tensor([12, 10]), 1)
        Tensor([13, 11], requires_grad=False)
        """
    def bitwise_or_(self, other: Any) -> Self:
        """`bitwise_or`, written into this tensor. See there."""
    def bitwise_right_shift(self, other: Any) -> Tensor:
        """``input >> other``, which keeps the sign; all bits gone for negative counts and beyond the width.

        >>> lucid.bitwise_right_shift(lucid.tensor([-8, 12]), 2)
        Tensor([-2,  3], requires_grad=False)
        """
    def bitwise_right_shift_(self, other: Any) -> Self:
        """`bitwise_right_shift`, written into this tensor. See there."""
    def bitwise_xor(self, other: Any) -> Tensor:
        """``input ^ other``. Raises NotImplementedError for floats.

        >>> lucid.bitwise_xor(lucid.tensor([12, 10]), 6)
        Tensor([10, 12], requires_grad=False)
        """
    def bitwise_xor_(self, other: Any) -> Self:
        """`bitwise_xor`, written into this tensor. See there."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two stacks of matrices (b, n, k) and (b, k, m), pair by pair.

        >>> lucid.bmm(lucid.ones(2, 1, 3), lucid.ones(2, 3, 2))
        Tensor([[[3.0, 3.0]],
        <BLANKLINE>
                [[3.0, 3.0]]], requires_grad=False)
        """
    def bool(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as bool: False where it is zero. Itself if it has that dtype already.

        >>> lucid.tensor([0.0, 2.0]).bool()
        Tensor([False,  True], requires_grad=False)
        """
    def broadcast_to(self, size: Sequence[builtins.int]) -> Tensor:
        """`expand` to `size`.

        >>> lucid.broadcast_to(lucid.tensor([1, 2]), (3, 2))
        Tensor([[1, 2],
                [1, 2],
                [1, 2]], requires_grad=False)
        """
    def byte(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as uint8. Itself if it has that dtype already.

        >>> lucid.tensor([1.5, 2.5]).byte()
        Tensor([1, 2], dtype=uint8, requires_grad=False)
        """
    def cauchy_(self, median: builtins.float = 0, sigma: builtins.float = 1, *, generator: Any = None) -> Self:
        """Fill with samples from the Cauchy distribution around `median`, half of them nearer to it than `sigma`.

        >>> bool(lucid.zeros(3).cauchy_(median=1.0, sigma=2.0).isfinite().all())
        True
        """
    def ccol_indices(self) -> Tensor:
        """Where the columns of a CSC matrix begin, and where the last ends.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().ccol_indices()
        Tensor([0, 1, 2], requires_grad=False)
        """
    def cdouble(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as complex128. Itself if it has that dtype already.

        >>> lucid.tensor([1.5]).cdouble()
        Tensor([1.5+0.0j], dtype=complex128, requires_grad=False)
        """
    def ceil(self) -> Tensor:
        """The smallest integer not below each element; the gradient is 0.

        >>> lucid.ceil(lucid.tensor([-1.5, 0.2, 2.0]))
        Tensor([-1.0,  1.0,  2.0], requires_grad=False)
        """
    def ceil_(self) -> Self:
        """`ceil`, written into this tensor. See there."""
    def cfloat(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as complex64. Itself if it has that dtype already.

        >>> lucid.tensor([1.5]).cfloat()
        Tensor([1.5+0.0j], requires_grad=False)
        """
    def char(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as int8. Itself if it has that dtype already.

        >>> lucid.tensor([1.5, -2.5]).char()
        Tensor([ 1, -2], dtype=int8, requires_grad=False)
        """
    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """`linalg.cholesky`, with `upper` by position too.

        >>> lucid.cholesky(lucid.tensor([[4.0, 2.0], [2.0, 2.0]]))
        Tensor([[2.0, 0.0],
                [1.0, 1.0]], requires_grad=False)
        """
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """The inverses of matrices given by their Cholesky factors `input` (..., n, n), `upper` or lower ones.

        Raises RuntimeError for a wrong shape or dtype, and LinAlgError, a RuntimeError, that names the first zero in a diagonal.

        >>> lucid.cholesky_inverse(lucid.tensor([[2.0, 0.0], [1.0, 1.0]]))
        Tensor([[ 0.5, -0.5],
                [-0.5,  1.0]], requires_grad=False)
        """
    def cholesky_solve(self, input2: Tensor, upper: builtins.bool = False) -> Tensor:
        """X with ``A X = B`` for B = `input` and matrices A given by Cholesky factors `input2` (..., n, n), lower or `upper` ones.

        Raises RuntimeError for shapes and dtypes that do not fit.

        >>> lucid.cholesky_solve(lucid.tensor([[4.0], [4.0]]), lucid.tensor([[2.0, 0.0], [1.0, 1.0]]))
        Tensor([[0.0],
                [2.0]], requires_grad=False)
        """
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
        """At most `chunks` views of equal length along `dim` (the last may be shorter).

        >>> lucid.chunk(lucid.arange(5), 3)
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        """
    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        """Elements moved into [min, max]; either bound may be a number, a tensor or None, but not both None.

        Where ``min > max`` the result is `max`. The gradient passes where the element is inside, bounds included. Raises
        NotImplementedError for complex numbers.

        >>> lucid.clamp(lucid.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
        Tensor([-1.0,  0.5,  1.0], requires_grad=False)
        >>> lucid.clamp(lucid.tensor([1, 5]), max=lucid.tensor([3, 3]))
        Tensor([1, 3], requires_grad=False)
        """
    def clamp_(self, min: Any = None, max: Any = None) -> Self:
        """`clip`, written into this tensor. See there."""
    def clamp_max(self, max: Any) -> Tensor:
        """``clamp(input, max=max)``.

        >>> lucid.clamp_max(lucid.tensor([1, 5]), 3)
        Tensor([1, 3], requires_grad=False)
        """
    def clamp_max_(self, max: Any) -> Self:
        """`clamp_max`, written into this tensor. See there."""
    def clamp_min(self, min: Any) -> Tensor:
        """``clamp(input, min=min)``.

        >>> lucid.clamp_min(lucid.tensor([1, 5]), 3)
        Tensor([3, 5], requires_grad=False)
        """
    def clamp_min_(self, min: Any) -> Self:
        """`clamp_min`, written into this tensor. See there."""
    def clip(self, min: Any = None, max: Any = None) -> Tensor:
        """Elements moved into [min, max]; either bound may be a number, a tensor or None, but not both None.

        Where ``min > max`` the result is `max`. The gradient passes where the element is inside, bounds included. Raises
        NotImplementedError for complex numbers.

        >>> lucid.clamp(lucid.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
        Tensor([-1.0,  0.5,  1.0], requires_grad=False)
        >>> lucid.clamp(lucid.tensor([1, 5]), max=lucid.tensor([3, 3]))
        Tensor([1, 3], requires_grad=False)
        """
    def clip_(self, min: Any = None, max: Any = None) -> Self:
        """`clip`, written into this tensor. See there."""
    def clone(self, *, memory_format: Any = ...) -> Tensor:
        """A copy in memory of its own, laid out as `input` or in `memory_format`; gradients pass through.

        Raises RuntimeError for a memory format of another rank.

        >>> x = lucid.tensor([1, 2])
        >>> y = lucid.clone(x)
        >>> y[0] = 9
        >>> x, y
        (Tensor([1, 2], requires_grad=False), Tensor([9, 2], requires_grad=False))
        """
    def coalesce(self) -> Tensor:
        """A COO tensor with each place once, in order; gradients pass through.

        >>> x = lucid.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
        >>> x.coalesce().values()
        Tensor([3.0], requires_grad=False)
        """
    def col_indices(self) -> Tensor:
        """The columns of the elements of a CSR matrix.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().col_indices()
        Tensor([1, 0], requires_grad=False)
        """
    def conj(self) -> Tensor:
        """The complex conjugate, a view with memory of its own: a write to one of the two is repeated in the other. A real
        tensor itself.

        >>> lucid.conj(lucid.tensor([1 + 2j, 3 - 1j])).resolve_conj()
        Tensor([1.0-2.0j, 3.0+1.0j], requires_grad=False)
        """
    def conj_physical(self) -> Tensor:
        """The complex conjugate, a copy, unlike `conj`; a real tensor itself.

        >>> lucid.conj_physical(lucid.tensor([1 + 2j, 3 - 1j]))
        Tensor([1.0-2.0j, 3.0+1.0j], requires_grad=False)
        """
    def conj_physical_(self) -> Self:
        """`conj_physical`, written into this tensor. See there."""
    def const_data_ptr(self) -> builtins.int:
        """`data_ptr`.

        >>> x = lucid.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
        """
    def contiguous(self, *, memory_format: Any = ...) -> Tensor:
        """The tensor itself if its elements lie in row-major order, or in `memory_format`, without gaps, else a copy that does.

        Raises RuntimeError for `preserve_format` and for a memory format of another rank.

        >>> x = lucid.zeros(2, 3).T
        >>> x.is_contiguous(), x.contiguous().is_contiguous()
        (False, True)
        """
    def copy_(self, other: Any, non_blocking: Any = False) -> Self:
        """Write the elements of `other`, a tensor that is broadcast, cast and moved as needed, or a number, into this tensor.

        Raises RuntimeError where both share memory, but not element by element, and TypeError for what is neither.

        >>> lucid.zeros(2, 2).copy_(lucid.tensor([1, 2]))
        Tensor([[1.0, 2.0],
                [1.0, 2.0]], requires_grad=False)
        """
    def copysign(self, other: Operand) -> Tensor:
        """The size of `input` with the sign of `other`, a tensor or a number; integers give the default float dtype.

        >>> lucid.copysign(lucid.tensor([1.0, 2.0]), lucid.tensor([-0.0, 5.0]))
        Tensor([-1.0,  2.0], requires_grad=False)
        """
    def copysign_(self, other: Operand) -> Self:
        """`copysign`, written into this tensor. See there."""
    def corrcoef(self) -> Tensor:
        """The Pearson correlation coefficients of the rows of `input`, clipped to [-1, 1].

        >>> lucid.corrcoef(lucid.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Tensor([[ 1.0, -1.0],
                [-1.0,  1.0]], requires_grad=False)
        """
    def cos(self) -> Tensor:
        """The cosine of radians. Integers give the default float dtype.

        >>> lucid.cos(lucid.tensor([0.0, lucid.pi]))
        Tensor([ 1.0, -1.0], requires_grad=False)
        """
    def cos_(self) -> Self:
        """`cos`, written into this tensor. See there."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine. Integers give the default float dtype.

        >>> lucid.cosh(lucid.tensor([-1.0, 0.0, 1.0]))
        Tensor([1.5431, 1.0000, 1.5431], requires_grad=False)
        """
    def cosh_(self) -> Self:
        """`cosh`, written into this tensor. See there."""
    def count_nonzero(self, dim: Any = None, *, axis: Any = ...) -> Tensor:
        """How many elements over `dim` are not zero, as int64.

        >>> lucid.count_nonzero(lucid.tensor([[0, 1], [2, 3]]), dim=0)
        Tensor([1, 2], requires_grad=False)
        """
    def cov(self, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of variables, the rows of `input`, over observations, its columns; of a vector, the variance.

        `fweights` are integers, how many times each observation counts, `aweights` its importance. Raises RuntimeError
        for more than two dimensions, for bools and for weights of other shapes and dtypes or below 0.

        >>> lucid.cov(lucid.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Tensor([[ 1.0, -1.0],
                [-1.0,  1.0]], requires_grad=False)
        """
    def cpu(self, *, memory_format: Any = ...) -> Tensor:
        """`input` in host memory.

        >>> lucid.ones(2).cpu().device
        device(type='cpu')
        """
    def cross(self, other: Tensor, dim: builtins.int | None = None, *, axis: Any = ...) -> Tensor:
        """`linalg.cross`; without `dim` along the first dimension of length 3, and RuntimeError if there is none.

        >>> lucid.cross(lucid.tensor([1.0, 0.0, 0.0]), lucid.tensor([0.0, 1.0, 0.0]), dim=0)
        Tensor([0.0, 0.0, 1.0], requires_grad=False)
        """
    def crow_indices(self) -> Tensor:
        """Where the rows of a CSR matrix begin, and where the last ends.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().crow_indices()
        Tensor([0, 1, 2], requires_grad=False)
        """
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, *, memory_format: Any = ...) -> Tensor:
        """`input` on a GPU, GPU 0 by default.

        >>> lucid.ones(2).gpu().device
        device(type='gpu', index=0)
        """
    def cummax(self, dim: builtins.int = ..., *, axis: Any = ...) -> ValuesIndices:
        """The largest elements up to each one along `dim`, and the int64 indices of the last of them; NaN is the largest.

        The gradient goes to the elements at the indices.

        >>> lucid.cummax(lucid.tensor([1, 3, 2, 4]), dim=0)
        ValuesIndices(values=Tensor([1, 3, 3, 4], requires_grad=False), indices=Tensor([0, 1, 1, 3], requires_grad=False))
        """
    def cummin(self, dim: builtins.int = ..., *, axis: Any = ...) -> ValuesIndices:
        """The smallest elements up to each one along `dim`, and the int64 indices of the last of them; NaN is the smallest.

        >>> lucid.cummin(lucid.tensor([3, 1, 2, 0]), dim=0)
        ValuesIndices(values=Tensor([3, 1, 1, 0], requires_grad=False), indices=Tensor([0, 1, 1, 3], requires_grad=False))
        """
    def cumprod(self, dim: builtins.int = ..., *, dtype: Any = None, axis: Any = ...) -> Tensor:
        """The products of the elements up to each one along `dim`. Integers and bools give int64, unless `dtype` is given.

        >>> lucid.cumprod(lucid.tensor([1, 2, 3, 4]), dim=0)
        Tensor([ 1,  2,  6, 24], requires_grad=False)
        """
    def cumprod_(self, dim: builtins.int = ..., *, dtype: Any = None, axis: Any = ...) -> Self:
        """`cumprod`, written into this tensor. See there."""
    def cumsum(self, dim: builtins.int = ..., *, dtype: Any = None, axis: Any = ...) -> Tensor:
        """The sums of the elements up to each one along `dim`. Integers and bools give int64, unless `dtype` is given.

        >>> lucid.cumsum(lucid.tensor([[1, 2], [3, 4]]), dim=1)
        Tensor([[1, 3],
                [3, 7]], requires_grad=False)
        """
    def cumsum_(self, dim: builtins.int = ..., *, dtype: Any = None, axis: Any = ...) -> Self:
        """`cumsum`, written into this tensor. See there."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians. Raises RuntimeError for complex tensors.

        >>> lucid.deg2rad(lucid.tensor([0.0, 90.0, 180.0]))
        Tensor([0.0000, 1.5708, 3.1416], requires_grad=False)
        """
    def deg2rad_(self) -> Self:
        """`deg2rad`, written into this tensor. See there."""
    def dense_dim(self) -> builtins.int:
        """How many dimensions are dense, behind the sparse ones.

        >>> lucid.zeros(2, 3).to_sparse(1).dense_dim()
        1
        """
    def det(self) -> Tensor:
        """`linalg.det`.

        >>> lucid.linalg.det(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
        Tensor(-2.0, requires_grad=False)
        """
    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """A matrix with the vector `input` on diagonal number `diagonal`; of a matrix, a copy of that diagonal.

        >>> lucid.diag(lucid.tensor([1, 2]))
        Tensor([[1, 0],
                [0, 2]], requires_grad=False)
        >>> lucid.diag(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([1, 4], requires_grad=False)
        """
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Matrices of zeros, in dimensions `dim1` and `dim2` of the result, with the last dimension of `input` on a diagonal.

        >>> lucid.diag_embed(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([[[1, 0],
                 [0, 2]],
        <BLANKLINE>
                [[3, 0],
                 [0, 4]]], requires_grad=False)
        """
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """A matrix with all elements of `input` on diagonal number `offset`.

        >>> lucid.diagflat(lucid.tensor([[1], [2]]))
        Tensor([[1, 0],
                [0, 2]], requires_grad=False)
        """
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """The view of the diagonal of dimensions `dim1` and `dim2`, as the last dimension.

        `offset` counts upwards to the right. Raises RuntimeError if both dimensions are the same.

        >>> lucid.diagonal(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([1, 4], requires_grad=False)
        >>> lucid.diagonal(lucid.tensor([[1, 2], [3, 4]]), offset=1)
        Tensor([2], requires_grad=False)
        """
    def diagonal_scatter(self, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """A copy of `input` with `src` on a diagonal. Raises RuntimeError if `src` has not its shape.

        >>> lucid.diagonal_scatter(lucid.zeros(2, 2), lucid.tensor([1.0, 2.0]))
        Tensor([[1.0, 0.0],
                [0.0, 2.0]], requires_grad=False)
        """
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *,
             axis: Any = ...) -> Tensor:
        """The differences of neighbours along `dim`, taken `n` times; of bools, whether they differ.

        `prepend` and `append` are joined to `input` along `dim` first, unless `n` is 0. Raises RuntimeError for a 0-d tensor and a
        negative `n`.

        >>> lucid.diff(lucid.tensor([1, 4, 9, 16]))
        Tensor([3, 5, 7], requires_grad=False)
        >>> lucid.diff(lucid.tensor([1, 4, 9, 16]), n=2)
        Tensor([2, 2], requires_grad=False)
        """
    def digamma(self) -> Tensor:
        """The derivative of `lgamma`; NaN at the negative integers, infinite with the sign of ``-input`` at 0.

        >>> lucid.digamma(lucid.tensor([1.0, 2.0]))
        Tensor([-0.5772,  0.4228], requires_grad=False)
        """
    def digamma_(self) -> Self:
        """`digamma`, written into this tensor. See there."""
    def dim_order(self, *, ambiguity_check: Any = False) -> tuple[builtins.int, ...]:
        """The dimensions in the order in which they lie in memory, from the outermost. With `ambiguity_check` RuntimeError where that
        is not unique; a list of memory formats allows their orders.

        >>> lucid.ones(2, 3).T.dim_order()
        (1, 0)
        """
    def dist(self, other: Tensor, p: builtins.float = 2) -> Tensor:
        """The norm of order `p` of ``input - other``.

        >>> lucid.dist(lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 6.0]))
        Tensor(5.0, requires_grad=False)
        """
    def div(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """``input / other``; integers give the default float dtype.

        `rounding_mode` 'floor' and 'trunc' round the quotient, keep integer dtypes and have no gradient but zero. Integer
        division by zero raises RuntimeError ("ZeroDivisionError"), as in PyTorch.

        >>> lucid.div(lucid.tensor([7, -7]), 2)
        Tensor([ 3.5, -3.5], requires_grad=False)
        >>> lucid.div(lucid.tensor([7, -7]), 2, rounding_mode="floor")
        Tensor([ 3, -4], requires_grad=False)
        """
    def div_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """`div`, written into this tensor. See there."""
    def divide(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """``input / other``; integers give the default float dtype.

        `rounding_mode` 'floor' and 'trunc' round the quotient, keep integer dtypes and have no gradient but zero. Integer
        division by zero raises RuntimeError ("ZeroDivisionError"), as in PyTorch.

        >>> lucid.div(lucid.tensor([7, -7]), 2)
        Tensor([ 3.5, -3.5], requires_grad=False)
        >>> lucid.div(lucid.tensor([7, -7]), 2, rounding_mode="floor")
        Tensor([ 3, -4], requires_grad=False)
        """
    def divide_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """`div`, written into this tensor. See there."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements. Raises RuntimeError for other dimensions and different lengths.

        >>> lucid.dot(lucid.tensor([1.0, 2.0]), lucid.tensor([3.0, 4.0]))
        Tensor(11.0, requires_grad=False)
        """
    def double(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as float64. Itself if it has that dtype already.

        >>> lucid.tensor([1.5]).double()
        Tensor([1.5], dtype=float64, requires_grad=False)
        """
    def dsplit(self, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
        """Views along dimension 2: that many of equal length, or cut at the indices.

        >>> lucid.dsplit(lucid.arange(4).view(1, 2, 2), 2)
        (Tensor([[[0],
                 [2]]], requires_grad=False), Tensor([[[1],
                 [3]]], requires_grad=False))
        """
    def eq(self, other: Any) -> Tensor:
        """``input == other``, elementwise, as bool. The operands broadcast.

        >>> lucid.eq(lucid.tensor([1, 2]), lucid.tensor([1, 3]))
        Tensor([ True, False], requires_grad=False)
        >>> lucid.tensor([1, 2]) == 2
        Tensor([False,  True], requires_grad=False)
        """
    def eq_(self, other: Any) -> Self:
        """`eq`, written into this tensor. See there."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Whether both tensors have the same shape and elements.

        >>> lucid.equal(lucid.tensor([1, 2]), lucid.tensor([1, 2])), lucid.equal(lucid.ones(2), lucid.ones(3))
        (True, False)
        """
    def erf(self) -> Tensor:
        """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0.

        >>> lucid.erf(lucid.tensor([-1.0, 0.0, 1.0]))
        Tensor([-0.8427,  0.0000,  0.8427], requires_grad=False)
        """
    def erf_(self) -> Self:
        """`erf`, written into this tensor. See there."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, accurate where it is small.

        >>> lucid.erfc(lucid.tensor([-1.0, 0.0, 1.0]))
        Tensor([1.8427, 1.0000, 0.1573], requires_grad=False)
        """
    def erfc_(self) -> Self:
        """`erfc`, written into this tensor. See there."""
    def erfinv(self) -> Tensor:
        """The inverse of `erf`; infinite at -1 and 1, NaN beyond.

        >>> lucid.erfinv(lucid.tensor([0.0, 0.5, 1.0]))
        Tensor([0.0000, 0.4769,    inf], requires_grad=False)
        """
    def erfinv_(self) -> Self:
        """`erfinv`, written into this tensor. See there."""
    def exp(self) -> Tensor:
        """e to the power of each element. Integers give the default float dtype.

        >>> lucid.exp(lucid.tensor([0.0, 1.0, -lucid.inf]))
        Tensor([1.0000, 2.7183, 0.0000], requires_grad=False)
        """
    def exp2(self) -> Tensor:
        """2 to the power of each element. Integers give the default float dtype.

        >>> lucid.exp2(lucid.tensor([0.0, 3.0, -1.0]))
        Tensor([1.0, 8.0, 0.5], requires_grad=False)
        """
    def exp2_(self) -> Self:
        """`exp2`, written into this tensor. See there."""
    def exp_(self) -> Self:
        """`exp`, written into this tensor. See there."""
    def expand(self, *sizes: Any, size: Any = ..., implicit: builtins.bool = False) -> Tensor:
        """Dimensions of length 1 repeated without a copy; -1 keeps a length. New dimensions come first.

        >>> lucid.tensor([[1], [2]]).expand(2, 3)
        Tensor([[1, 1, 1],
                [2, 2, 2]], requires_grad=False)
        >>> lucid.tensor([1, 2]).expand(3, -1).stride()
        (0, 1)
        """
    def expand_as(self, other: Tensor) -> Tensor:
        """`expand` to the shape of `other`.

        >>> lucid.expand_as(lucid.tensor([[1], [2]]), lucid.zeros(2, 3))
        Tensor([[1, 1, 1],
                [2, 2, 2]], requires_grad=False)
        """
    def expm1(self) -> Tensor:
        """``exp(input) - 1``, accurate near 0. Integers give the default float dtype.

        >>> lucid.expm1(lucid.tensor([0.0, 1e-10, 1.0]))
        Tensor([0.0000e+00, 1.0000e-10, 1.7183e+00], requires_grad=False)
        """
    def expm1_(self) -> Self:
        """`expm1`, written into this tensor. See there."""
    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Any = None) -> Self:
        """Fill with samples from the exponential distribution with rate `lambd`. None is 0, for rates up to 1e27.

        >>> lucid.zeros(10000).exponential_(2.0).mean().round(decimals=1)
        Tensor(0.5, requires_grad=False)
        """
    def fill_(self, value: Any) -> Self:
        """Write a number, or the element of a 0-d tensor, which gets the gradient, into every element.

        Raises TypeError for what is neither, and RuntimeError for another tensor and for a number that the dtype cannot hold.

        >>> lucid.zeros(2).fill_(7)
        Tensor([7.0, 7.0], requires_grad=False)
        """
    def fill_diagonal_(self, fill_value: Any, wrap: builtins.bool = False) -> Self:
        """Write a number into the main diagonal: all elements whose indices are equal. Returns the tensor.

        `wrap` begins again below the end of the diagonal of a tall matrix, a row apart. Raises RuntimeError for less than two
        dimensions and for more than two of different lengths.

        >>> lucid.zeros(2, 3).fill_diagonal_(7)
        Tensor([[7.0, 0.0, 0.0],
                [0.0, 7.0, 0.0]], requires_grad=False)
        """
    def fix(self) -> Tensor:
        """Each element without its fraction; the gradient is 0.

        >>> lucid.trunc(lucid.tensor([1.7, -1.7]))
        Tensor([ 1.0, -1.0], requires_grad=False)
        """
    def fix_(self) -> Self:
        """`trunc`, written into this tensor. See there."""
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Dimensions `start_dim` to `end_dim` as one; a 0-d tensor becomes 1-d.

        >>> lucid.flatten(lucid.zeros(2, 3, 4)).shape, lucid.flatten(lucid.zeros(2, 3, 4), start_dim=1).shape
        (lucid.Size([24]), lucid.Size([2, 12]))
        """
    def flip(self, *args: Any, dims: Any = ...) -> Tensor:
        """A copy with the order reversed along dimensions: ``flip(x, 0, 1)``, ``flip(x, (0, 1))`` or ``flip(x, dims=(0, 1))``.

        >>> lucid.flip(lucid.tensor([[1, 2], [3, 4]]), dims=(0, 1))
        Tensor([[4, 3],
                [2, 1]], requires_grad=False)
        """
    def fliplr(self) -> Tensor:
        """`flip` along dimension 1.

        >>> lucid.fliplr(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([[2, 1],
                [4, 3]], requires_grad=False)
        """
    def flipud(self) -> Tensor:
        """`flip` along dimension 0.

        >>> lucid.flipud(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([[3, 4],
                [1, 2]], requires_grad=False)
        """
    def float(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as float32. Itself if it has that dtype already.

        >>> lucid.tensor([1, 2]).float()
        Tensor([1.0, 2.0], requires_grad=False)
        """
    def float_power(self, exponent: Operand) -> Tensor:
        """`input` to the power `exponent`, computed in float64, or complex128 where either is complex.

        >>> lucid.float_power(lucid.tensor([2, 4]), -1)
        Tensor([0.50, 0.25], dtype=float64, requires_grad=False)
        """
    def float_power_(self, exponent: Operand) -> Self:
        """`float_power` into this tensor itself. Raises RuntimeError unless it has the dtype of the result."""
    def floor(self) -> Tensor:
        """The largest integer not above each element; the gradient is 0.

        >>> lucid.floor(lucid.tensor([-1.5, 0.2, 2.0]))
        Tensor([-2.0,  0.0,  2.0], requires_grad=False)
        """
    def floor_(self) -> Self:
        """`floor`, written into this tensor. See there."""
    def floor_divide(self, other: Operand) -> Tensor:
        """The quotient rounded towards minus infinity. No gradient flows through it.

        >>> lucid.floor_divide(lucid.tensor([7, -7]), 2)
        Tensor([ 3, -4], requires_grad=False)
        """
    def floor_divide_(self, other: Operand) -> Self:
        """`floor_divide`, written into this tensor. See there."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of two elements; where one is NaN, the other. Where they are equal the gradient goes to `input`.

        >>> lucid.fmax(lucid.tensor([1.0, float("nan")]), lucid.tensor([2.0, 3.0]))
        Tensor([2.0, 3.0], requires_grad=False)
        """
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of two elements; where one is NaN, the other. Where they are equal the gradient goes to `input`.

        >>> lucid.fmin(lucid.tensor([1.0, float("nan")]), lucid.tensor([2.0, 3.0]))
        Tensor([1.0, 3.0], requires_grad=False)
        """
    def fmod(self, other: Operand) -> Tensor:
        """The remainder with the sign of the dividend, as C's fmod.

        >>> lucid.fmod(lucid.tensor([7.0, -7.0]), 3)
        Tensor([ 1.0, -1.0], requires_grad=False)
        """
    def fmod_(self, other: Operand) -> Self:
        """`fmod`, written into this tensor. See there."""
    def frac(self) -> Tensor:
        """The fraction that `trunc` cuts off, with the sign of the element. Raises NotImplementedError for integers.

        >>> lucid.frac(lucid.tensor([1.75, -1.75]))
        Tensor([ 0.75, -0.75], requires_grad=False)
        """
    def frac_(self) -> Self:
        """`frac`, written into this tensor. See there."""
    def frexp(self) -> Frexp:
        """The named tuple (mantissa, exponent) with ``input == mantissa * 2 ** exponent`` and mantissas of sizes in [0.5, 1).

        The exponents are int32; 0, inf and NaN are their own mantissas with the exponent 0. Raises RuntimeError for integers and
        complex tensors.

        >>> lucid.frexp(lucid.tensor([8.0, 0.75]))
        Frexp(mantissa=Tensor([0.50, 0.75], requires_grad=False), exponent=Tensor([4, 0], dtype=int32, requires_grad=False))
        """
    def gather(self, dim: builtins.int = ..., index: Tensor = ..., *, sparse_grad: builtins.bool = False,
               axis: Any = ...) -> Tensor:
        """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: for each index, the element along `dim`.

        `index` has as many dimensions as `input` and is no longer, except along `dim`. Raises IndexError out of range.

        >>> lucid.gather(lucid.tensor([[1, 2, 3], [4, 5, 6]]), 1, lucid.tensor([[2, 0], [1, 1]]))
        Tensor([[3, 1],
                [5, 5]], requires_grad=False)
        """
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor, not negative; gcd(0, 0) is 0. Raises NotImplementedError for other dtypes.

        >>> lucid.gcd(lucid.tensor([12, 7]), lucid.tensor([18, 14]))
        Tensor([6, 7], requires_grad=False)
        """
    def gcd_(self, other: Tensor) -> Self:
        """`gcd`, written into this tensor. See there."""
    def ge(self, other: Any) -> Tensor:
        """``input >= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.ge(lucid.tensor([1, 2, 3]), 2)
        Tensor([False,  True,  True], requires_grad=False)
        """
    def ge_(self, other: Any) -> Self:
        """`ge`, written into this tensor. See there."""
    def geometric_(self, p: builtins.float, *, generator: Any = None) -> Self:
        """Fill with how many trials it takes, from 1 on, up to the first success with probability `p` of each.

        Raises RuntimeError for `p` outside (0, 1), NotImplementedError for bools and complex tensors.

        >>> lucid.zeros(1000).geometric_(0.5).min()
        Tensor(1.0, requires_grad=False)
        """
    def geqrf(self) -> GEQRF:
        """LAPACK's compact QR factorization of matrices (..., m, n): R on and above the diagonal of `a`, the vectors of the
        Householder reflectors below it, and their factors `tau` (..., min(m, n)): what `linalg.householder_product` takes.

        Not differentiable. Raises RuntimeError for less than two dimensions, NotImplementedError for integers and half precision.

        >>> a, tau = lucid.geqrf(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> a.triu().abs()  # R of the QR decomposition, up to signs
        Tensor([[5.0, 2.2],
                [0.0, 0.4]], requires_grad=False)
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors, as a matrix.

        >>> lucid.ger(lucid.tensor([1, 2]), lucid.tensor([3, 4]))
        Tensor([[3, 4],
                [6, 8]], requires_grad=False)
        """
    def get_device(self) -> builtins.int:
        """The number of the GPU that the tensor is on; -1 for a tensor on the CPU.

        >>> lucid.get_device(lucid.ones(1))
        -1
        """
    def gpu(self, device: Any = None, non_blocking: builtins.bool = False, *, memory_format: Any = ...) -> Tensor:
        """`input` on a GPU, GPU 0 by default.

        >>> lucid.ones(2).gpu().device
        device(type='gpu', index=0)
        """
    def greater(self, other: Any) -> Tensor:
        """``input > other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.greater(lucid.tensor([1, 2, 3]), 2)
        Tensor([False, False,  True], requires_grad=False)
        """
    def greater_(self, other: Any) -> Self:
        """`gt`, written into this tensor. See there."""
    def greater_equal(self, other: Any) -> Tensor:
        """``input >= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.ge(lucid.tensor([1, 2, 3]), 2)
        Tensor([False,  True,  True], requires_grad=False)
        """
    def greater_equal_(self, other: Any) -> Self:
        """`ge`, written into this tensor. See there."""
    def gt(self, other: Any) -> Tensor:
        """``input > other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.greater(lucid.tensor([1, 2, 3]), 2)
        Tensor([False, False,  True], requires_grad=False)
        """
    def gt_(self, other: Any) -> Self:
        """`gt`, written into this tensor. See there."""
    def half(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as float16. Itself if it has that dtype already.

        >>> lucid.tensor([1.5]).half()
        Tensor([1.5], dtype=float16, requires_grad=False)
        """
    def hardshrink(self, lambd: builtins.float = 0.5) -> Tensor:
        """`input`, and 0 within `lambd` of 0.

        >>> F.hardshrink(lucid.tensor([-1.0, 0.3, 0.7]))
        Tensor([-1.0,  0.0,  0.7], requires_grad=False)
        """
    def hash_tensor(self, dim: Any = None, keepdim: builtins.bool = False, *, mode: builtins.int = 0, axis: Any = ...,
                    keepdims: Any = ...) -> Tensor:
        """The exclusive or, as uint64, of the bits that the elements have as 64-bit numbers, floating-point or integer, along the
        dimensions `dim` (all by default). `mode` is 0, the only one that there is.

        >>> lucid.hash_tensor(lucid.tensor([[1, 2], [3, 4]]), 1)
        Tensor([3, 7], dtype=uint64, requires_grad=False)
        """
    def heaviside(self, values: Tensor) -> Tensor:
        """0 where `input` is negative or NaN, `values` where it is 0, 1 above.

        Raises RuntimeError for two dtypes. Has no gradient: NotImplementedError in backward.

        >>> lucid.heaviside(lucid.tensor([-1.0, 0.0, 2.0]), lucid.tensor(0.5))
        Tensor([0.0, 0.5, 1.0], requires_grad=False)
        """
    def heaviside_(self, values: Tensor) -> Self:
        """`heaviside`, written into this tensor. See there."""
    def histc(self, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """How many elements fall into each of `bins` equal bins between `min` and `max`, in the dtype of `input`.

        Where `min` and `max` are equal, the smallest and the largest element take their place. Elements outside and NaN do not
        count; the last bin includes its right edge. Raises NotImplementedError for integers.

        >>> lucid.histc(lucid.tensor([1.0, 2.0, 2.5, 4.0]), bins=3, min=1, max=4)
        Tensor([1.0, 2.0, 1.0], requires_grad=False)
        """
    def histogram(self, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: builtins.bool = False,
                  out: Any = None) -> Histogram:
        """The named tuple (hist, bin_edges): how many elements, or how much of `weight`, fall into each bin.

        `bins` is the number of equal bins in `range` (by default from the smallest to the largest element) or a vector of
        ascending edges. The last bin includes its right edge. With `density` the integral of the result is 1.

        >>> lucid.histogram(lucid.tensor([1.0, 2.0, 2.5, 4.0]), bins=3, range=(1.0, 4.0))
        Histogram(hist=Tensor([1.0, 2.0, 1.0], requires_grad=False), bin_edges=Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=False))
        """
    def hsplit(self, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
        """Views along dimension 1 (0 of a vector): that many of equal length, or cut at the indices.

        >>> lucid.hsplit(lucid.tensor([[1, 2], [3, 4]]), 2)
        (Tensor([[1],
                [3]], requires_grad=False), Tensor([[2],
                [4]], requires_grad=False))
        """
    def hypot(self, other: Tensor) -> Tensor:
        """sqrt(input^2 + other^2) without overflow in between. Raises NotImplementedError for integers.

        >>> lucid.hypot(lucid.tensor([3.0]), lucid.tensor([4.0]))
        Tensor([5.0], requires_grad=False)
        """
    def hypot_(self, other: Tensor) -> Self:
        """`hypot`, written into this tensor. See there."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0.

        >>> lucid.i0(lucid.tensor([0.0, 1.0, 2.0]))
        Tensor([1.0000, 1.2661, 2.2796], requires_grad=False)
        """
    def i0_(self) -> Self:
        """`i0`, written into this tensor. See there."""
    def igamma(self, other: Tensor) -> Tensor:
        """The lower regularised incomplete gamma function P(input, other); NaN for negative arguments.

        Differentiable by `other` only, as in PyTorch: NotImplementedError in backward if `input` requires grad.

        >>> lucid.igamma(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 1.0]))
        Tensor([0.6321, 0.2642], requires_grad=False)
        """
    def igamma_(self, other: Tensor) -> Self:
        """`igamma`, written into this tensor. See there."""
    def igammac(self, other: Tensor) -> Tensor:
        """``1 - igamma(input, other)``, the upper regularised incomplete gamma function, accurate where it is small.

        >>> lucid.igammac(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 1.0]))
        Tensor([0.3679, 0.7358], requires_grad=False)
        """
    def igammac_(self, other: Tensor) -> Self:
        """`igammac`, written into this tensor. See there."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, a view. Raises RuntimeError for real tensors.

        >>> lucid.imag(lucid.tensor([1 + 2j, 3 - 1j]))
        Tensor([ 2.0, -1.0], requires_grad=False)
        """
    def index_add(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., *, alpha: Any = 1,
                  axis: Any = ...) -> Tensor:
        """`input` with ``alpha * source`` added to the slices along `dim` that `index` names; repeated indices add up.

        >>> lucid.index_add(lucid.zeros(3), 0, lucid.tensor([0, 2, 0]), lucid.tensor([1.0, 2.0, 3.0]))
        Tensor([4.0, 0.0, 2.0], requires_grad=False)
        """
    def index_add_(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., *, alpha: Any = 1,
                   axis: Any = ...) -> Self:
        """`index_add` into this tensor itself."""
    def index_copy(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., *, axis: Any = ...) -> Tensor:
        """A copy of `input` with `source` written over the slices along `dim` that `index` names.

        >>> lucid.index_copy(lucid.zeros(3), 0, lucid.tensor([2, 0]), lucid.tensor([1.0, 2.0]))
        Tensor([2.0, 0.0, 1.0], requires_grad=False)
        """
    def index_copy_(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., *, axis: Any = ...) -> Self:
        """Write `source` over the slices along `dim` that `index`, of int64, names."""
    def index_fill(self, dim: builtins.int = ..., index: Tensor = ..., value: Any = ..., *, axis: Any = ...) -> Tensor:
        """A copy of `input` with the slices along `dim` that `index` names filled with one number.

        >>> lucid.index_fill(lucid.zeros(3), 0, lucid.tensor([0, 2]), 5.0)
        Tensor([5.0, 0.0, 5.0], requires_grad=False)
        """
    def index_fill_(self, dim: builtins.int = ..., index: Tensor = ..., value: Any = ..., *, axis: Any = ...) -> Self:
        """Fill the slices along `dim` that `index` names with one number. Raises IndexError for another index dtype than int64."""
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """`index_put_` into a copy of `input`.

        >>> lucid.index_put(lucid.zeros(3), (lucid.tensor([0, 0]),), lucid.tensor([1.0, 2.0]), accumulate=True)
        Tensor([3.0, 0.0, 0.0], requires_grad=False)
        """
    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: builtins.bool = False) -> Self:
        """``self[indices] = values``, or with `accumulate` ``+=``, where repeated indices add up.

        Raises IndexError out of range, RuntimeError if the dtypes differ.
        """
    def index_reduce(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *,
                     include_self: builtins.bool = True, axis: Any = ...) -> Tensor:
        """`input` with the slices `source` combined by `reduce` ('prod', 'mean', 'amax', 'amin') with those along `dim` that the
        vector `index` names; otherwise as `scatter_reduce`.

        >>> lucid.index_reduce(lucid.ones(2), 0, lucid.tensor([0, 0, 1]), lucid.tensor([2.0, 3.0, 4.0]), "prod")
        Tensor([6.0, 4.0], requires_grad=False)
        """
    def index_reduce_(self, dim: builtins.int = ..., index: Tensor = ..., source: Tensor = ..., reduce: str = ..., *,
                      include_self: builtins.bool = True, axis: Any = ...) -> Self:
        """`index_reduce` into this tensor itself."""
    def index_select(self, dim: builtins.int = ..., index: Tensor = ..., *, axis: Any = ...) -> Tensor:
        """The slices of `input` along `dim` named by the 1-d `index`. Raises IndexError for an index out of range.

        >>> lucid.index_select(lucid.tensor([[1, 2, 3], [4, 5, 6]]), 1, lucid.tensor([2, 0]))
        Tensor([[3, 1],
                [6, 4]], requires_grad=False)
        """
    def indices(self) -> Tensor:
        """The indices (d, nnz) of a coalesced COO tensor. Raises RuntimeError for others.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse().indices()
        Tensor([[0, 1],
                [1, 0]], requires_grad=False)
        """
    def inner(self, other: Tensor) -> Tensor:
        """The sums of products over the last dimension of both; a 0-d tensor multiplies. Raises RuntimeError if lengths differ.

        >>> lucid.inner(lucid.tensor([[1, 2], [3, 4]]), lucid.tensor([1, 10]))
        Tensor([21, 43], requires_grad=False)
        """
    def int(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as int32. Itself if it has that dtype already.

        >>> lucid.tensor([1.5, -2.5]).int()
        Tensor([ 1, -2], dtype=int32, requires_grad=False)
        """
    def inverse(self) -> Tensor:
        """`linalg.inv`.

        >>> lucid.linalg.inv(lucid.tensor([[2.0, 0.0], [0.0, 4.0]]))
        Tensor([[0.50, 0.00],
                [0.00, 0.25]], requires_grad=False)
        """
    def is_coalesced(self) -> builtins.bool:
        """Whether each place stands once and in order.

        >>> lucid.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).is_coalesced()
        False
        """
    def is_conj(self) -> builtins.bool:
        """Whether a tensor is what `conj` gives, or a view of that.

        >>> lucid.is_conj(lucid.tensor([1j]).conj())
        True
        """
    @property
    def is_cpu(self) -> builtins.bool:
        """Whether the memory is on the host.

        >>> lucid.ones(2).is_cpu
        True
        """
    is_ipu: builtins.bool
    is_maia: builtins.bool
    is_mkldnn: builtins.bool
    is_mps: builtins.bool
    is_mtia: builtins.bool
    def is_neg(self) -> builtins.bool:
        """False: lucid negates at once.

        >>> lucid.is_neg(lucid.tensor([1 + 2j]).conj().imag)
        False
        """
    is_nested: builtins.bool
    def is_nonzero(self) -> builtins.bool:
        """Whether the only element is not zero. Raises RuntimeError for more elements or none.

        >>> lucid.is_nonzero(lucid.tensor([0.0])), lucid.is_nonzero(lucid.tensor([2]))
        (False, True)
        """
    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Whether the memory is pinned.

        >>> lucid.ones(2).is_pinned()
        False
        """
    is_quantized: builtins.bool
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Whether the shapes are equal.

        >>> lucid.is_same_size(lucid.ones(2, 3), lucid.zeros(2, 3))
        True
        """
    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Whether both are the same view of the same memory.

        >>> x = lucid.ones(2, 3)
        >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.T)
        (True, False)
        """
    def is_signed(self) -> builtins.bool:
        """Whether the dtype holds negative values.

        >>> lucid.is_signed(lucid.tensor([1])), lucid.is_signed(lucid.tensor([1], dtype=lucid.uint8))
        (True, False)
        """
    @property
    def is_sparse(self) -> builtins.bool:
        """Whether the layout is `sparse_coo`.

        >>> lucid.zeros(2).is_sparse, lucid.zeros(2).to_sparse().is_sparse
        (False, True)
        """
    @property
    def is_sparse_csr(self) -> builtins.bool:
        """Whether the layout is `sparse_csr`.

        >>> lucid.zeros(2, 2).to_sparse_csr().is_sparse_csr
        True
        """
    is_vulkan: builtins.bool
    is_xla: builtins.bool
    is_xpu: builtins.bool
    def isclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08,
                equal_nan: builtins.bool = False) -> Tensor:
        """Where ``|input - other| <= atol + rtol * |other|``, as bool; equal infinities are close.

        >>> lucid.isclose(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0 + 1e-6, 2.1]))
        Tensor([ True, False], requires_grad=False)
        """
    def isfinite(self) -> Tensor:
        """Where elements are neither infinite nor NaN, as bool. Not differentiable.

        >>> lucid.isfinite(lucid.tensor([1.0, float("nan"), float("inf")]))
        Tensor([ True, False, False], requires_grad=False)
        """
    def isinf(self) -> Tensor:
        """Where elements are infinite, as bool. Not differentiable.

        >>> lucid.isinf(lucid.tensor([1.0, float("nan"), -float("inf")]))
        Tensor([False, False,  True], requires_grad=False)
        """
    def isnan(self) -> Tensor:
        """Where elements are NaN, as bool. Not differentiable.

        >>> lucid.isnan(lucid.tensor([1.0, float("nan"), float("inf")]))
        Tensor([False,  True, False], requires_grad=False)
        """
    def isneginf(self) -> Tensor:
        """Where elements are minus infinity, as bool. Raises RuntimeError for complex tensors. Not differentiable.

        >>> lucid.isneginf(lucid.tensor([-float("inf"), float("inf")]))
        Tensor([ True, False], requires_grad=False)
        """
    def isposinf(self) -> Tensor:
        """Where elements are infinity, as bool. Raises RuntimeError for complex tensors. Not differentiable.

        >>> lucid.isposinf(lucid.tensor([-float("inf"), float("inf")]))
        Tensor([False,  True], requires_grad=False)
        """
    def isreal(self) -> Tensor:
        """Where elements have no imaginary part, as bool. Not differentiable.

        >>> lucid.isreal(lucid.tensor([1 + 0j, 1j]))
        Tensor([ True, False], requires_grad=False)
        """
    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None,
              window: Tensor | None = None, center: builtins.bool = True, normalized: builtins.bool = False,
              onesided: builtins.bool | None = None, length: builtins.int | None = None,
              return_complex: builtins.bool = False) -> Tensor:
        """The signal whose `stft` is nearest to `input`, ``([batch,] frequency, frame)``, in the sense of least squares.

        The arguments are those of `stft`. The signal has `length` samples, filled up with zeros, or as many as the frames cover,
        without `center`'s extension. `return_complex` gives complex numbers, of two-sided spectra only. Raises RuntimeError for
        real and empty tensors, lengths that do not fit, and windows that leave samples uncovered.

        >>> window = lucid.hann_window(8)
        >>> x = lucid.sin(lucid.arange(32.0))
        >>> spectrum = lucid.stft(x, 8, window=window, return_complex=True)
        >>> lucid.allclose(lucid.istft(spectrum, 8, window=window), x, atol=1e-5)
        True
        """
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of `input` in turn times all of `other`. Missing dimensions are 1, in front.

        >>> lucid.kron(lucid.tensor([1, 10]), lucid.tensor([1, 2, 3]))
        Tensor([ 1,  2,  3, 10, 20, 30], requires_grad=False)
        """
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, axis: Any = ...,
                 keepdims: Any = ...) -> ValuesIndices:
        """The `k`-th smallest elements along `dim`, counted from 1, and their indices; NaN counts as the largest.

        Raises RuntimeError if `k` is out of range.

        >>> lucid.kthvalue(lucid.tensor([3, 1, 2]), 2)
        ValuesIndices(values=Tensor(2, requires_grad=False), indices=Tensor(2, requires_grad=False))
        """
    @property
    def layout(self) -> Layout:
        """How the elements are kept: `strided`, in one memory, or one of the sparse layouts.

        >>> lucid.ones(2).layout
        lucid.strided
        """
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple, not negative; 0 where either is 0. Raises NotImplementedError for other dtypes.

        >>> lucid.lcm(lucid.tensor([4, 6]), lucid.tensor([6, 9]))
        Tensor([12, 18], requires_grad=False)
        """
    def lcm_(self, other: Tensor) -> Self:
        """`lcm`, written into this tensor. See there."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``; of integers `other` the result has the dtype of a floating-point `input`.

        >>> lucid.ldexp(lucid.tensor([0.5, 0.75]), lucid.tensor([2, 3]))
        Tensor([2.0, 6.0], requires_grad=False)
        """
    def ldexp_(self, other: Tensor) -> Self:
        """`ldexp`, written into this tensor. See there."""
    def le(self, other: Any) -> Tensor:
        """``input <= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.le(lucid.tensor([1, 2, 3]), 2)
        Tensor([ True,  True, False], requires_grad=False)
        """
    def le_(self, other: Any) -> Self:
        """`le`, written into this tensor. See there."""
    def lerp(self, end: Tensor, weight: Weight) -> Tensor:
        """``input + weight * (end - input)``, elementwise with broadcasting: `input` for weight 0, `end` for weight 1.

        `weight` is a number or a tensor. All tensors have one floating-point or complex dtype, but a `weight` of no dimensions,
        which is cast. Computed from the nearer of the two ends, so weight 1 gives `end` exactly. Raises TypeError unless `end`
        is a tensor, RuntimeError for tensors of several dtypes and for a complex weight of real tensors, and
        NotImplementedError for integers.

        >>> lucid.lerp(lucid.tensor([0.0, 10.0]), lucid.tensor([1.0, 20.0]), 0.25)
        Tensor([ 0.25, 12.50], requires_grad=False)
        """
    def lerp_(self, end: Tensor, weight: Weight) -> Self:
        """`lerp`, written into this tensor. See there."""
    def less(self, other: Any) -> Tensor:
        """``input < other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.less(lucid.tensor([1, 2, 3]), 2)
        Tensor([ True, False, False], requires_grad=False)
        """
    def less_(self, other: Any) -> Self:
        """`lt`, written into this tensor. See there."""
    def less_equal(self, other: Any) -> Tensor:
        """``input <= other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.le(lucid.tensor([1, 2, 3]), 2)
        Tensor([ True,  True, False], requires_grad=False)
        """
    def less_equal_(self, other: Any) -> Self:
        """`le`, written into this tensor. See there."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function; inf at 0 and at the negative integers.

        >>> lucid.lgamma(lucid.tensor([1.0, 3.0, 5.0])).exp()
        Tensor([ 1.0,  2.0, 24.0], requires_grad=False)
        """
    def lgamma_(self) -> Self:
        """`lgamma`, written into this tensor. See there."""
    def log(self) -> Tensor:
        """The natural logarithm: -inf at 0, NaN below. Integers give the default float dtype.

        >>> lucid.log(lucid.tensor([1.0, lucid.e, 0.0, -1.0]))
        Tensor([ 0.0,  1.0, -inf,  nan], requires_grad=False)
        """
    def log10(self) -> Tensor:
        """The logarithm to base 10. Integers give the default float dtype.

        >>> lucid.log10(lucid.tensor([1.0, 1000.0]))
        Tensor([0.0, 3.0], requires_grad=False)
        """
    def log10_(self) -> Self:
        """`log10`, written into this tensor. See there."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, accurate near 0. Integers give the default float dtype.

        >>> lucid.log1p(lucid.tensor([0.0, 1e-10]))
        Tensor([0.0e+00, 1.0e-10], requires_grad=False)
        """
    def log1p_(self) -> Self:
        """`log1p`, written into this tensor. See there."""
    def log2(self) -> Tensor:
        """The logarithm to base 2. Integers give the default float dtype.

        >>> lucid.log2(lucid.tensor([1.0, 8.0, 0.5]))
        Tensor([ 0.0,  3.0, -1.0], requires_grad=False)
        """
    def log2_(self) -> Self:
        """`log2`, written into this tensor. See there."""
    def log_(self) -> Self:
        """`log`, written into this tensor. See there."""
    def log_normal_(self, mean: builtins.float = 1, std: builtins.float = 2, *, generator: Any = None) -> Self:
        """Fill with the exponentials of normal samples of `mean` and `std`.

        >>> bool((lucid.zeros(5).log_normal_() > 0).all())
        True
        """
    def log_softmax(self, dim: builtins.int = ..., dtype: Any = None, *, axis: Any = ...) -> Tensor:
        """The logarithm of `softmax`, computed without overflow. Arguments and errors as there.

        >>> F.log_softmax(lucid.tensor([0.0, 0.0, 1.0]), dim=0)
        Tensor([-1.5514, -1.5514, -0.5514], requires_grad=False)
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(input) + exp(other)) without overflow in between. Raises NotImplementedError for integers.

        >>> lucid.logaddexp(lucid.tensor([0.0, 1000.0]), lucid.tensor([0.0, 1000.0]))
        Tensor([   0.6931, 1000.6932], requires_grad=False)
        """
    def logaddexp2(self, other: Tensor) -> Tensor:
        """`logaddexp` to base 2.

        >>> lucid.logaddexp2(lucid.tensor([0.0, 1000.0]), lucid.tensor([0.0, 1000.0]))
        Tensor([   1.0, 1001.0], requires_grad=False)
        """
    def logcumsumexp(self, dim: builtins.int = ..., *, axis: Any = ...) -> Tensor:
        """The logarithms of the sums of ``exp`` up to each element along `dim`, without overflow.

        Raises NotImplementedError for integers and bools.

        >>> lucid.logcumsumexp(lucid.zeros(3), dim=0).exp()
        Tensor([1.0, 2.0, 3.0], requires_grad=False)
        """
    def logdet(self) -> Tensor:
        """The logarithm of the determinant: NaN if that is negative, -inf if it is 0; of complex matrices the principal value.

        >>> lucid.logdet(lucid.tensor([[2.0, 0.0], [0.0, 0.5]]))
        Tensor(0.0, requires_grad=False)
        """
    def logical_and(self, other: Tensor) -> Tensor:
        """Where both are nonzero, as bool.

        >>> lucid.logical_and(lucid.tensor([0, 1, 2]), lucid.tensor([1, 0, 3]))
        Tensor([False, False,  True], requires_grad=False)
        """
    def logical_and_(self, other: Tensor) -> Self:
        """`logical_and`, written into this tensor. See there."""
    def logical_not(self) -> Tensor:
        """Where elements are zero, as bool.

        >>> lucid.logical_not(lucid.tensor([0, 1, 2]))
        Tensor([ True, False, False], requires_grad=False)
        """
    def logical_not_(self) -> Self:
        """`logical_not`, written into this tensor. See there."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Where either is nonzero, as bool.

        >>> lucid.logical_or(lucid.tensor([0, 1, 0]), lucid.tensor([1, 0, 0]))
        Tensor([ True,  True, False], requires_grad=False)
        """
    def logical_or_(self, other: Tensor) -> Self:
        """`logical_or`, written into this tensor. See there."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Where exactly one is nonzero, as bool.

        >>> lucid.logical_xor(lucid.tensor([0, 1, 2]), lucid.tensor([1, 0, 3]))
        Tensor([ True,  True, False], requires_grad=False)
        """
    def logical_xor_(self, other: Tensor) -> Self:
        """`logical_xor`, written into this tensor. See there."""
    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """``log(input / (1 - input))``, of the elements moved into [eps, 1 - eps] if `eps` is given; else NaN outside [0, 1].

        >>> lucid.logit(lucid.tensor([0.5, 0.75, 1.0]))
        Tensor([0.0000, 1.0986,    inf], requires_grad=False)
        >>> lucid.logit(lucid.tensor([0.5, 0.75, 1.0]), eps=0.1)
        Tensor([0.0000, 1.0986, 2.1972], requires_grad=False)
        """
    def logit_(self, eps: builtins.float | None = None) -> Self:
        """`logit`, written into this tensor. See there."""
    def logsumexp(self, dim: Any = ..., keepdim: builtins.bool = False, *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """``log(sum(exp(input)))`` over `dim` without overflow; -inf for no elements.

        >>> lucid.logsumexp(lucid.tensor([[0.0, 0.0], [1000.0, 1000.0]]), dim=1)
        Tensor([   0.6931, 1000.6932], requires_grad=False)
        """
    def long(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as int64. Itself if it has that dtype already.

        >>> lucid.tensor([1.5, -2.5]).long()
        Tensor([ 1, -2], requires_grad=False)
        """
    def lt(self, other: Any) -> Tensor:
        """``input < other``, elementwise, as bool. Raises NotImplementedError for complex numbers.

        >>> lucid.less(lucid.tensor([1, 2, 3]), 2)
        Tensor([ True, False, False], requires_grad=False)
        """
    def lt_(self, other: Any) -> Self:
        """`lt`, written into this tensor. See there."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, ...]:
        """The factors and pivots of `linalg.lu_factor`; with `get_infos` what `linalg.lu_factor_ex` returns, and no error.

        >>> factors, pivots = lucid.lu(lucid.tensor([[0.0, 1.0], [2.0, 4.0]]))
        >>> factors, pivots
        (Tensor([[2.0, 4.0],
                [0.0, 1.0]], requires_grad=False), Tensor([2, 2], dtype=int32, requires_grad=False))
        """
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """`linalg.lu_solve` with the arguments of old.

        >>> a, b = lucid.tensor([[2.0, 0.0], [0.0, 4.0]]), lucid.tensor([[2.0], [2.0]])
        >>> lucid.lu_solve(b, *lucid.lu(a))
        Tensor([[1.0],
                [0.5]], requires_grad=False)
        """
    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of each matrix (the property `mH`), a view.

        >>> lucid.zeros(5, 2, 3, dtype=lucid.complex64).mH.shape
        lucid.Size([5, 3, 2])
        """
    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged (the property `mT`).

        >>> lucid.zeros(5, 2, 3).mT.shape
        lucid.Size([5, 3, 2])
        """
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """As `map_`, with the elements of two tensors.

        >>> lucid.tensor([1.0]).map2_(lucid.tensor([3.0]), lucid.tensor([5.0]), lambda x, y, z: x + y * z)
        Tensor([16.0], requires_grad=False)
        """
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element ``x`` by ``callable(x, y)`` with the element ``y`` of `other`, which broadcasts.

        >>> lucid.tensor([1.0, 2.0]).map_(lucid.tensor([3.0, 5.0]), lambda x, y: x * y)
        Tensor([ 3.0, 10.0], requires_grad=False)
        """
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """`input` with `value` (a number or a 0-d tensor) where `mask`, which broadcasts, is True.

        >>> lucid.masked_fill(lucid.tensor([1.0, 2.0]), lucid.tensor([False, True]), -lucid.inf)
        Tensor([ 1.0, -inf], requires_grad=False)
        """
    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """`masked_fill` into this tensor itself."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy of `input` with the elements where `mask` is True taken from `source` in order.

        >>> lucid.masked_scatter(lucid.zeros(3), lucid.tensor([True, False, True]), lucid.tensor([1.0, 2.0]))
        Tensor([1.0, 0.0, 2.0], requires_grad=False)
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """`masked_scatter` into this tensor itself. Raises RuntimeError for a source of another dtype or too few elements."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where `mask` is True, in one dimension; `input` and `mask` are broadcast together.

        >>> x = lucid.tensor([[1, 5], [7, 2]])
        >>> lucid.masked_select(x, x > 2)
        Tensor([5, 7], requires_grad=False)
        """
    def matmul(self, other: Tensor) -> Tensor:
        """The product of vectors, matrices or stacks of matrices, which are broadcast; of two vectors, their dot product.

        Both have the same dtype; integers work, bools do not. Raises RuntimeError if the sizes do not fit.

        >>> lucid.matmul(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]), lucid.tensor([1.0, 10.0]))
        Tensor([21.0, 43.0], requires_grad=False)
        >>> (lucid.ones(5, 2, 3) @ lucid.ones(3, 4)).shape
        lucid.Size([5, 2, 4])
        """
    def matrix_exp(self) -> Tensor:
        """The matrix exponential 1 + A + A^2 / 2 + ... of square matrices (..., n, n), floating-point or complex.

        Scaling and squaring: each matrix is halved until its norm is small, and the exponential squared as often (Moler and Van
        Loan, "Nineteen dubious ways to compute the exponential of a matrix", 1978 and 2003). In between a Taylor polynomial is
        evaluated with few products (Paterson and Stockmeyer, 1973; Bader, Blanes and Casas, "Computing the matrix exponential
        with an optimized Taylor polynomial approximation", 2019, say why it is preferred to a Pade approximant: no system to
        solve). Half precision is computed in float32. Raises RuntimeError for other dtypes and shapes.

        >>> lucid.matrix_exp(lucid.tensor([[0.0, 1.0], [0.0, 0.0]]))
        Tensor([[1.0, 1.0],
                [0.0, 1.0]], requires_grad=False)
        """
    def matrix_power(self, n: builtins.int) -> Tensor:
        """The product of `n` times each square matrix, by repeated squaring; negative powers are those of the inverse.

        Raises TypeError for an `n` that is no integer, RuntimeError for a wrong shape, LinAlgError for singular matrices and n < 0.

        >>> lucid.linalg.matrix_power(lucid.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        Tensor([[1.0, 3.0],
                [0.0, 1.0]], requires_grad=False)
        """
    @overload
    def max(self, dim: None = None, keepdim: builtins.bool = False, *, other: None = None, keepdims: Any = ...) -> Tensor:
        """The largest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `maximum`.

        NaN counts as the largest. Elements that tie share the gradient; with `dim` it goes to the element at the index.
        Raises RuntimeError for a tensor without elements, IndexError along a dimension of length 0.

        >>> lucid.max(lucid.tensor([[1, 5, 2], [7, 0, 3]]))
        Tensor(7, requires_grad=False)
        >>> lucid.max(lucid.tensor([[1, 5, 2], [7, 0, 3]]), dim=1)
        ValuesIndices(values=Tensor([5, 7], requires_grad=False), indices=Tensor([1, 0], requires_grad=False))
        """
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def max(self, *, keepdim: builtins.bool = False, axis: builtins.int, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    @overload
    def max(self, *, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of two elements; NaN if either is. Raises RuntimeError for complex tensors.

        >>> lucid.maximum(lucid.tensor([1, 5]), lucid.tensor([3, 2]))
        Tensor([3, 5], requires_grad=False)
        """
    def mean(self, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, axis: Any = ...,
             keepdims: Any = ...) -> Tensor:
        """The mean over `dim`; NaN for no elements. Raises RuntimeError for integers and bools without `dtype`.

        >>> lucid.mean(lucid.tensor([[1.0, 2.0], [3.0, 6.0]]))
        Tensor(3.0, requires_grad=False)
        >>> lucid.mean(lucid.tensor([[1.0, 2.0], [3.0, 6.0]]), dim=0, keepdim=True)
        Tensor([[2.0, 4.0]], requires_grad=False)
        """
    @overload
    def median(self, dim: None = None, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> Tensor:
        """The lower of the middle elements of all, or with `dim` the named tuple (values, indices) along it; NaN if there is one.

        Of all elements, those equal to the median share the gradient; with `dim` it goes to the element at the index.

        >>> lucid.median(lucid.tensor([3, 1, 2, 4]))
        Tensor(2, requires_grad=False)
        >>> lucid.median(lucid.tensor([[3, 1, 2]]), dim=1)
        ValuesIndices(values=Tensor([2], requires_grad=False), indices=Tensor([2], requires_grad=False))
        """
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def median(self, *, keepdim: builtins.bool = False, axis: builtins.int, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def min(self, dim: None = None, keepdim: builtins.bool = False, *, other: None = None, keepdims: Any = ...) -> Tensor:
        """The smallest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `minimum`.

        NaN counts as the smallest. Otherwise as `max`.

        >>> lucid.min(lucid.tensor([[1, 5, 2], [7, 0, 3]]))
        Tensor(0, requires_grad=False)
        >>> lucid.min(lucid.tensor([[1, 5, 2], [7, 0, 3]]), dim=1)
        ValuesIndices(values=Tensor([1, 0], requires_grad=False), indices=Tensor([0, 1], requires_grad=False))
        """
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def min(self, *, keepdim: builtins.bool = False, axis: builtins.int, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def min(self, dim: Tensor) -> Tensor: ...
    @overload
    def min(self, *, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two elements; NaN if either is. Raises RuntimeError for complex tensors.

        >>> lucid.minimum(lucid.tensor([1, 5]), lucid.tensor([3, 2]))
        Tensor([1, 2], requires_grad=False)
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices. Raises RuntimeError for other ranks and sizes that do not fit.

        >>> lucid.mm(lucid.tensor([[1.0, 2.0]]), lucid.tensor([[3.0], [4.0]]))
        Tensor([[11.0]], requires_grad=False)
        """
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False, *, axis: Any = ...,
             keepdims: Any = ...) -> ValuesIndices:
        """The most frequent elements along `dim`, the smallest of several, and the indices of their last appearance.

        >>> lucid.mode(lucid.tensor([1, 2, 2, 3]))
        ValuesIndices(values=Tensor(2, requires_grad=False), indices=Tensor(2, requires_grad=False))
        """
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Dimensions `source` moved to `destination`, the others in their order.

        >>> lucid.moveaxis(lucid.zeros(2, 3, 4), 0, -1).shape
        lucid.Size([3, 4, 2])
        """
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Dimensions `source` moved to `destination`, the others in their order.

        >>> lucid.moveaxis(lucid.zeros(2, 3, 4), 0, -1).shape
        lucid.Size([3, 4, 2])
        """
    def msort(self) -> Tensor:
        """The elements in order along the first dimension.

        >>> lucid.msort(lucid.tensor([[3, 1], [2, 5]]))
        Tensor([[2, 1],
                [3, 5]], requires_grad=False)
        """
    def mul(self, other: Any) -> Tensor:
        """``input * other``, elementwise with broadcasting and type promotion.

        >>> lucid.mul(lucid.tensor([1, 2, 3]), 10)
        Tensor([10, 20, 30], requires_grad=False)
        >>> lucid.tensor([[1], [2]]) * lucid.tensor([1.5, 10.0])
        Tensor([[ 1.5, 10.0],
                [ 3.0, 20.0]], requires_grad=False)
        """
    def mul_(self, other: Any) -> Self:
        """`mul`, written into this tensor. See there."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Any = None) -> Tensor:
        """`num_samples` int64 indices, drawn with probabilities proportional to the (rows of the) weights `input`.

        Without replacement indices of weight 0 come last, when there are no others left.
        Raises RuntimeError for weights that are negative, not finite or all 0, and for more samples than weights without replacement.

        >>> lucid.multinomial(lucid.tensor([0.0, 1.0, 3.0]), 5, replacement=True).unique()
        Tensor([1, 2], requires_grad=False)
        """
    def multiply(self, other: Any) -> Tensor:
        """``input * other``, elementwise with broadcasting and type promotion.

        >>> lucid.mul(lucid.tensor([1, 2, 3]), 10)
        Tensor([10, 20, 30], requires_grad=False)
        >>> lucid.tensor([[1], [2]]) * lucid.tensor([1.5, 10.0])
        Tensor([[ 1.5, 10.0],
                [ 3.0, 20.0]], requires_grad=False)
        """
    def multiply_(self, other: Any) -> Self:
        """`mul`, written into this tensor. See there."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector. (n, m) and (m,) to (n,). Raises RuntimeError for other shapes.

        >>> lucid.mv(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]), lucid.tensor([1.0, 10.0]))
        Tensor([21.0, 43.0], requires_grad=False)
        """
    def mvlgamma(self, p: builtins.int) -> Tensor:
        """The logarithm of the gamma function of `p` dimensions; a term of lgamma for each. Raises RuntimeError for p < 1.

        >>> lucid.mvlgamma(lucid.tensor([2.0, 3.0]), 2)
        Tensor([0.4516, 1.5502], requires_grad=False)
        """
    def mvlgamma_(self, p: builtins.int) -> Self:
        """`mvlgamma`, written into this tensor. See there."""
    def nan_to_num(self, nan: builtins.float | None = None, posinf: builtins.float | None = None,
                   neginf: builtins.float | None = None) -> Tensor:
        """NaN replaced by `nan` (None: 0), infinities by `posinf` and `neginf` (None: the largest and smallest values).

        The gradient passes where the element is finite.

        >>> lucid.nan_to_num(lucid.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
        Tensor([1.0, 0.0, 9.0], requires_grad=False)
        """
    def nan_to_num_(self, nan: builtins.float | None = None, posinf: builtins.float | None = None,
                    neginf: builtins.float | None = None) -> Self:
        """`nan_to_num`, written into this tensor. See there."""
    def nanmean(self, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, axis: Any = ...,
                keepdims: Any = ...) -> Tensor:
        """The mean over `dim` of the elements that are not NaN; NaN if there are none.

        Raises RuntimeError for integers and complex tensors.

        >>> lucid.nanmean(lucid.tensor([1.0, float("nan"), 3.0]))
        Tensor(2.0, requires_grad=False)
        """
    @overload
    def nanmedian(self, dim: None = None, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> Tensor:
        """`median` of the elements that are not NaN; NaN if there are none.

        >>> lucid.nanmedian(lucid.tensor([1.0, float("nan"), 3.0]))
        Tensor(1.0, requires_grad=False)
        """
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False, *, keepdims: Any = ...) -> ValuesIndices: ...
    @overload
    def nanmedian(self, *, keepdim: builtins.bool = False, axis: builtins.int, keepdims: Any = ...) -> ValuesIndices: ...
    def nanquantile(self, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *,
                    interpolation: str = 'linear', axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """`quantile` of the elements that are not NaN; NaN if there are none.

        >>> lucid.nanquantile(lucid.tensor([1.0, float("nan"), 3.0]), 0.5)
        Tensor(2.0, requires_grad=False)
        """
    def nansum(self, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, axis: Any = ...,
               keepdims: Any = ...) -> Tensor:
        """The sum over `dim` with NaN taken as 0.

        >>> lucid.nansum(lucid.tensor([1.0, float("nan"), 3.0]))
        Tensor(4.0, requires_grad=False)
        """
    def narrow(self, dim: builtins.int = ..., start: builtins.int = ..., length: builtins.int = ..., *,
               axis: Any = ...) -> Tensor:
        """The view of `length` elements from `start` along `dim`. Raises RuntimeError for a 0-d tensor and what is out of range.

        >>> lucid.narrow(lucid.arange(6), 0, start=2, length=3)
        Tensor([2, 3, 4], requires_grad=False)
        """
    def narrow_copy(self, dim: builtins.int = ..., start: builtins.int = ..., length: builtins.int = ..., *,
                    axis: Any = ...) -> Tensor:
        """`narrow` in new memory.

        >>> lucid.arange(4).narrow_copy(0, 1, 2)
        Tensor([1, 2], requires_grad=False)
        """
    def ndimension(self) -> builtins.int:
        """The number of dimensions.

        >>> lucid.zeros(2, 3).dim()
        2
        """
    def ne(self, other: Any) -> Tensor:
        """``input != other``, elementwise, as bool. The operands broadcast.

        >>> lucid.ne(lucid.tensor([1, 2]), lucid.tensor([1, 3]))
        Tensor([False,  True], requires_grad=False)
        """
    def ne_(self, other: Any) -> Self:
        """`ne`, written into this tensor. See there."""
    def neg(self) -> Tensor:
        """``-input``. Raises RuntimeError for bool tensors.

        >>> lucid.neg(lucid.tensor([1, -2]))
        Tensor([-1,  2], requires_grad=False)
        """
    def neg_(self) -> Self:
        """`neg`, written into this tensor. See there."""
    def negative(self) -> Tensor:
        """``-input``. Raises RuntimeError for bool tensors.

        >>> lucid.neg(lucid.tensor([1, -2]))
        Tensor([-1,  2], requires_grad=False)
        """
    def negative_(self) -> Self:
        """`neg`, written into this tensor. See there."""
    def new(self, *data: Any, device: Any = None, size: Any = None, other: Tensor | None = None) -> Tensor:
        """``x.new(2, 3)``: memory as it is found, of that shape; ``x.new([1, 2])``: these numbers; both with the dtype and device of
        `x`. A tensor must have them already, and shares its memory. Raises TypeError otherwise, and for a single float.

        >>> lucid.zeros(1, dtype=lucid.float64).new([1, 2])
        Tensor([1.0, 2.0], dtype=float64, requires_grad=False)
        """
    def new_empty(self, *sizes: Any, size: Any = ..., dtype: Any = None, device: Any = None,
                  requires_grad: builtins.bool = False) -> Tensor:
        """`empty(size)` with this tensor's dtype and device by default.

        >>> lucid.zeros(1, dtype=lucid.int32).new_empty(2, 3).dtype
        dtype('int32')
        """
    def new_empty_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], dtype: Any = None,
                          device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
        """`empty_strided` with this tensor's dtype and device by default.

        >>> lucid.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
                 requires_grad: builtins.bool = False) -> Tensor:
        """`full(size, fill_value)` with this tensor's dtype and device by default.

        >>> lucid.zeros(1, dtype=lucid.int32).new_full((2,), 7)
        Tensor([7, 7], dtype=int32, requires_grad=False)
        """
    def new_ones(self, *sizes: Any, size: Any = ..., dtype: Any = None, device: Any = None,
                 requires_grad: builtins.bool = False) -> Tensor:
        """`ones(size)` with this tensor's dtype and device by default.

        >>> lucid.zeros(1, dtype=lucid.int32).new_ones(2)
        Tensor([1, 1], dtype=int32, requires_grad=False)
        """
    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
        """`tensor(data)` with this tensor's dtype and device by default.

        >>> lucid.zeros(1, dtype=lucid.float64).new_tensor([1, 2])
        Tensor([1.0, 2.0], dtype=float64, requires_grad=False)
        """
    def new_zeros(self, *sizes: Any, size: Any = ..., dtype: Any = None, device: Any = None,
                  requires_grad: builtins.bool = False) -> Tensor:
        """`zeros(size)` with this tensor's dtype and device by default.

        >>> lucid.ones(1, dtype=lucid.int32).new_zeros(2)
        Tensor([0, 0], dtype=int32, requires_grad=False)
        """
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number of the dtype after `input` towards `other`. The gradient goes to `input` where the two differ.

        >>> lucid.nextafter(lucid.tensor([1.0]), lucid.tensor([2.0])) - 1 == lucid.finfo(lucid.float32).eps
        Tensor([True], requires_grad=False)
        """
    def nextafter_(self, other: Tensor) -> Self:
        """`nextafter`, written into this tensor. See there."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The int64 indices of the elements that are not zero: a tensor (n, dimensions), or a tuple with one 1-d tensor for
        each dimension, which can index `input`. Waits for a GPU.

        >>> lucid.nonzero(lucid.tensor([[0, 1], [2, 0]]))
        Tensor([[0, 1],
                [1, 0]], requires_grad=False)
        >>> lucid.nonzero(lucid.tensor([[0, 1], [2, 0]]), as_tuple=True)
        (Tensor([0, 1], requires_grad=False), Tensor([1, 0], requires_grad=False))
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """The first `size` rows of ``nonzero(input)``, filled up with rows of `fill_value`: a shape that no element decides.

        Raises RuntimeError for a negative `size`.

        >>> lucid.nonzero_static(lucid.tensor([0, 1, 1]), size=3, fill_value=-1)
        Tensor([[ 1],
                [ 2],
                [-1]], requires_grad=False)
        """
    def norm(self, p: builtins.float | str | None = 'fro', dim: Any = None, keepdim: builtins.bool = False, dtype: Any = None,
             *, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The vector norm of order `p` over `dim`: any number, inf, -inf, or 'fro', which is 2. 'nuc' is the matrix norm over two
        dimensions, the sum of the singular values.

        Raises RuntimeError for integers and bools, for 'nuc' over another number of dimensions, and for no elements where the norm of
        nothing is not defined (`p` inf or < 0).

        >>> lucid.norm(lucid.tensor([[3.0, 4.0], [5.0, 12.0]]), dim=1)
        Tensor([ 5.0, 13.0], requires_grad=False)
        >>> lucid.norm(lucid.tensor([3.0, 4.0]), p=1)
        Tensor(7.0, requires_grad=False)
        """
    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Any = None) -> Self:
        """Fill with normal samples of `mean` and `std`.

        >>> x = lucid.zeros(10000).normal_(5.0, 2.0)
        >>> x.mean().round(), x.std().round()
        (Tensor(5.0, requires_grad=False), Tensor(2.0, requires_grad=False))
        """
    def not_equal(self, other: Any) -> Tensor:
        """``input != other``, elementwise, as bool. The operands broadcast.

        >>> lucid.ne(lucid.tensor([1, 2]), lucid.tensor([1, 3]))
        Tensor([False,  True], requires_grad=False)
        """
    def not_equal_(self, other: Any) -> Self:
        """`ne`, written into this tensor. See there."""
    def numpy(self, *, force: builtins.bool = False) -> np.ndarray:
        """The elements as a NumPy array that shares the memory.

        Raises TypeError for a tensor on another device and RuntimeError for one that requires grad, outside `no_grad`, unless
        `force`, which detaches and copies to the host; NotImplementedError if there are no elements, on the device 'meta'.

        >>> x = lucid.zeros(2)
        >>> x.numpy()[0] = 5  # the same memory
        >>> x
        Tensor([5.0, 0.0], requires_grad=False)
        """
    def orgqr(self, input2: Tensor) -> Tensor:
        """`linalg.householder_product`.

        >>> a = lucid.tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> q = lucid.orgqr(*lucid.geqrf(a))
        >>> lucid.allclose(q.T @ q, lucid.eye(2), atol=1e-6)
        True
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: builtins.bool = True, transpose: builtins.bool = False) -> Tensor:
        """``Q @ input3`` for the orthogonal (m, m) matrix Q of Householder's vectors below the diagonal of `input` (..., m, k), with
        their factors `input2` (..., k), as `geqrf` returns them; ``input3 @ Q`` unless `left`, and Q's adjoint with `transpose`.

        >>> a, tau = lucid.geqrf(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> lucid.ormqr(a, tau, lucid.eye(2), transpose=True) @ lucid.tensor([[3.0], [4.0]])
        Tensor([[-5.0],
                [ 0.0]], requires_grad=False)
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors, as a matrix.

        >>> lucid.ger(lucid.tensor([1, 2]), lucid.tensor([3, 4]))
        Tensor([[3, 4],
                [6, 8]], requires_grad=False)
        """
    @property
    def output_nr(self) -> builtins.int:
        """Which result of its operation the tensor is.

        >>> lucid.ones(2, requires_grad=True).unbind()[1].output_nr
        1
        """
    def permute(self, *order: Any, dims: Any = ...) -> Tensor:
        """The dimensions in another order. A view. Raises RuntimeError for a dimension that is named twice.

        >>> lucid.permute(lucid.zeros(2, 3, 4), (2, 0, 1)).shape
        lucid.Size([4, 2, 3])
        """
    def pin_memory(self, device: Any = None) -> Tensor:
        """A row-major copy in pinned memory, from which ``.to('gpu', non_blocking=True)`` copies while the host goes on; the tensor
        itself if its memory is pinned. `device` is accepted: there is one kind of GPU.

        Raises RuntimeError for a tensor that is not on the CPU, or without a GPU.

        >>> lucid.ones(2).pin_memory().is_pinned()
        True
        """
    def pinverse(self, rcond: builtins.float = 1e-15) -> Tensor:
        """`linalg.pinv`, with another default of `rcond`.

        >>> lucid.linalg.pinv(lucid.tensor([[2.0, 0.0], [0.0, 0.0]]))
        Tensor([[0.5, 0.0],
                [0.0, 0.0]], requires_grad=False)
        """
    def polygamma(self, n: builtins.int) -> Tensor:
        """The derivative of order `n` of `digamma`. See `lucid.polygamma`.

        >>> lucid.tensor([1.0, 2.0]).polygamma(1)
        Tensor([1.6449, 0.6449], requires_grad=False)
        """
    def polygamma_(self, n: builtins.int) -> Self:
        """`polygamma`, written into this tensor. See there."""
    def positive(self) -> Tensor:
        """`input` itself. Raises RuntimeError for bool tensors.

        >>> lucid.positive(lucid.tensor([1, -2]))
        Tensor([ 1, -2], requires_grad=False)
        """
    def pow(self, exponent: Operand) -> Tensor:
        """``input ** exponent``.

        Raises RuntimeError for integers to a negative number, and NotImplementedError for bools to a tensor of bools.

        Of integers to negative elements of a tensor, 1 and -1 have integer powers; the others give 0.

        >>> lucid.pow(lucid.tensor([1.0, 2.0, 3.0]), 2)
        Tensor([1.0, 4.0, 9.0], requires_grad=False)
        >>> 2 ** lucid.tensor([1, 2, 3])
        Tensor([2, 4, 8], requires_grad=False)
        """
    def pow_(self, exponent: Operand) -> Self:
        """`pow`, written into this tensor. See there."""
    def prelu(self, weight: Tensor) -> Tensor:
        """`input` where it is positive, else ``weight * input``; `weight` has one element, or one for each channel (dimension 1).

        Raises RuntimeError for other shapes and for dtypes that differ.

        Source: He et al., "Delving Deep into Rectifiers", 2015.

        >>> F.prelu(lucid.tensor([-2.0, 3.0]), lucid.tensor([0.25]))
        Tensor([-0.5,  3.0], requires_grad=False)
        """
    def prod(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: Any = None, axis: Any = ...,
             keepdims: Any = ...) -> Tensor:
        """The product of all elements, or along one dimension. Integers and bools give int64, unless `dtype` is given.

        >>> lucid.prod(lucid.tensor([[1, 2], [3, 4]]), dim=1)
        Tensor([ 2, 12], requires_grad=False)
        """
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """`put_` into a copy of `input`.

        >>> lucid.Tensor.put(lucid.zeros(2, 2), lucid.tensor([3, 0]), lucid.tensor([1.0, 2.0]))
        Tensor([[2.0, 0.0],
                [0.0, 1.0]], requires_grad=False)
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Self:
        """Write the elements of `source` to the positions `index` of this tensor, counted as if it were flat; -1 is the last.

        With `accumulate` they are added; repeated indices add up. Raises IndexError out of range, RuntimeError for other dtypes
        or numbers of elements.
        """
    def qr(self, some: builtins.bool = True) -> QR:
        """`linalg.qr` as it was: mode 'reduced' if `some`, else 'complete'.

        >>> q, r = lucid.qr(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> r.abs()
        Tensor([[5.0, 2.2],
                [0.0, 0.4]], requires_grad=False)
        """
    def quantile(self, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *,
                 interpolation: str = 'linear', axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The quantiles `q` (a number or a vector in [0, 1], which becomes the first dimension) along `dim`, or of all elements.

        Between two elements, `interpolation` takes the 'lower', the 'higher', the 'nearest', their 'midpoint' or the 'linear'
        mixture. NaN if there is one. Raises RuntimeError for other dtypes than float32 and float64.

        >>> lucid.quantile(lucid.tensor([0.0, 1.0, 2.0, 3.0]), lucid.tensor([0.5, 0.9]))
        Tensor([1.5, 2.7], requires_grad=False)
        """
    def rad2deg(self) -> Tensor:
        """Radians as degrees. Raises RuntimeError for complex tensors.

        >>> lucid.rad2deg(lucid.tensor([0.0, lucid.pi]))
        Tensor([  0.0, 180.0], requires_grad=False)
        """
    def rad2deg_(self) -> Self:
        """`rad2deg`, written into this tensor. See there."""
    def random_(self, from_: builtins.int = 0, to: builtins.int | None = None, *, generator: Any = None) -> Self:
        """Fill with integers from [from_, to); ``random_(to)`` begins at 0. By default all that the dtype holds from 0 on,
        for floating-point types up to where every integer is exact.

        >>> lucid.zeros(1000).random_(3, 6).unique()
        Tensor([3.0, 4.0, 5.0], requires_grad=False)
        """
    def ravel(self) -> Tensor:
        """The elements in one dimension. A view where the memory is contiguous, else a copy.

        >>> lucid.ravel(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([1, 2, 3, 4], requires_grad=False)
        """
    @property
    def real(self) -> Tensor:
        """The real part, a view; a real tensor itself.

        >>> lucid.real(lucid.tensor([1 + 2j, 3 - 1j]))
        Tensor([1.0, 3.0], requires_grad=False)
        """
    def reciprocal(self) -> Tensor:
        """``1 / input``. Integers give the default float dtype.

        >>> lucid.reciprocal(lucid.tensor([2.0, 4.0, 0.0]))
        Tensor([0.50, 0.25,  inf], requires_grad=False)
        """
    def reciprocal_(self) -> Self:
        """`reciprocal`, written into this tensor. See there."""
    def record_stream(self, s: Any) -> None:
        """Say that work of the stream `s` uses the memory: when the tensor is gone, it is not given to others before that work is
        done.

        >>> x = lucid.ones(2, device="gpu")
        >>> x.record_stream(lucid.gpu.current_stream())
        """
    def relu(self) -> Tensor:
        """``max(input, 0)``, of any shape and real dtype; NaN stays NaN. The gradient at 0 is 0.

        Raises RuntimeError for bool and NotImplementedError for complex tensors.

        >>> F.relu(lucid.tensor([-1.0, 0.0, 2.0]))
        Tensor([0.0, 0.0, 2.0], requires_grad=False)
        """
    def relu_(self) -> Self:
        """`relu`, written into this tensor. See there."""
    def remainder(self, other: Operand) -> Tensor:
        """The remainder with the sign of the divisor, as Python's ``%``.

        >>> lucid.remainder(lucid.tensor([7, -7]), 3)
        Tensor([1, 2], requires_grad=False)
        >>> lucid.tensor([7.5]) % 2
        Tensor([1.5], requires_grad=False)
        """
    def remainder_(self, other: Operand) -> Self:
        """`remainder`, written into this tensor. See there."""
    def renorm(self, p: builtins.float, dim: builtins.int = ..., maxnorm: builtins.float = ..., *, axis: Any = ...) -> Tensor:
        """`input` with each slice along `dim` whose `p`-norm is above `maxnorm` scaled down to that norm.

        Raises RuntimeError for fewer than two dimensions, a `p` that is not positive and a negative `maxnorm`.

        >>> lucid.renorm(lucid.tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, dim=0, maxnorm=1.0)
        Tensor([[0.6, 0.8],
                [0.3, 0.4]], requires_grad=False)
        """
    def renorm_(self, p: builtins.float, dim: builtins.int = ..., maxnorm: builtins.float = ..., *, axis: Any = ...) -> Self:
        """`renorm`, written into this tensor. See there."""
    def repeat(self, *sizes: Any, repeats: Any = ...) -> Tensor:
        """The tensor repeated along each dimension; more counts than dimensions add dimensions in front.

        >>> lucid.tensor([1, 2]).repeat(2, 2)
        Tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]], requires_grad=False)
        """
    def repeat_interleave(self, repeats: Any = None, dim: builtins.int | None = None, *,
                          output_size: builtins.int | None = None, axis: Any = ...) -> Tensor:
        """Each element (or slice along `dim`) repeated in place; `repeats` is a number or an int32 or int64 tensor
        of one number for each; NotImplementedError for other dtypes.

        Without `repeats`, `input` is the vector of counts, and the result says which of them each position belongs to. `output_size`
        is the length that the result must have: RuntimeError otherwise.

        >>> lucid.repeat_interleave(lucid.tensor([1, 2]), 2)
        Tensor([1, 1, 2, 2], requires_grad=False)
        >>> lucid.repeat_interleave(lucid.tensor([1, 2]), lucid.tensor([3, 1]))
        Tensor([1, 1, 1, 2], requires_grad=False)
        """
    def reshape(self, *sizes: Any, shape: Any = ...) -> Tensor:
        """The elements in another shape, one length of which may be -1; a view where the memory allows it.

        >>> lucid.reshape(lucid.arange(6), (2, -1))
        Tensor([[0, 1, 2],
                [3, 4, 5]], requires_grad=False)
        """
    def reshape_as(self, other: Tensor) -> Tensor:
        """`reshape` to the shape of `other`.

        >>> lucid.reshape_as(lucid.arange(4), lucid.zeros(2, 2))
        Tensor([[0, 1],
                [2, 3]], requires_grad=False)
        """
    def resize_(self, *sizes: Any, size: Any = ..., memory_format: Any = ...) -> Self:
        """Give the tensor another shape, in row-major order or in `memory_format`, and return it.

        It keeps its memory, from its first element on, if that is large enough; else it gets new memory with the old elements in
        front and undefined ones behind. Raises RuntimeError for a tensor that requires grad and for negative lengths.

        >>> lucid.arange(6).resize_(2, 2)
        Tensor([[0, 1],
                [2, 3]], requires_grad=False)
        """
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Self:
        """`resize_` to the shape of another tensor, and with `preserve_format` to its strides.

        >>> lucid.zeros(2, 3).resize_as_(lucid.ones(4)).shape
        lucid.Size([4])
        """
    def resolve_conj(self) -> Tensor:
        """The tensor itself, and a copy of what `conj` gives, which is a view.

        >>> lucid.resolve_conj(lucid.tensor([1 + 2j]).conj())
        Tensor([1.0-2.0j], requires_grad=False)
        """
    def resolve_neg(self) -> Tensor:
        """The tensor itself: there are no pending signs.

        >>> lucid.resolve_neg(lucid.tensor([1 + 2j]).conj().imag)
        Tensor([-2.0], requires_grad=False)
        """
    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """A copy with the elements moved along `dims`, those that fall off the end coming in at the front.

        >>> lucid.roll(lucid.tensor([1, 2, 3, 4]), 1)
        Tensor([4, 1, 2, 3], requires_grad=False)
        >>> lucid.roll(lucid.tensor([[1, 2], [3, 4]]), 1, dims=0)
        Tensor([[3, 4],
                [1, 2]], requires_grad=False)
        """
    def rot90(self, k: builtins.int = 1, dims: Sequence[builtins.int] = ...) -> Tensor:
        """A copy turned `k` times by 90 degrees from the first of `dims` towards the second.

        For an odd `k` it is not contiguous, as in PyTorch: the transpose of a copy.

        >>> lucid.rot90(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([[2, 4],
                [1, 3]], requires_grad=False)
        """
    def round(self, *, decimals: builtins.int = 0) -> Tensor:
        """The nearest number with `decimals` decimals, halves to even; the gradient is 0. Integers have no `decimals`.

        >>> lucid.round(lucid.tensor([0.5, 1.5, -2.6]))
        Tensor([ 0.0,  2.0, -3.0], requires_grad=False)
        >>> lucid.round(lucid.tensor([3.14159]), decimals=2)
        Tensor([3.14], requires_grad=False)
        """
    def round_(self, *, decimals: builtins.int = 0) -> Self:
        """`round`, written into this tensor. See there."""
    def row_indices(self) -> Tensor:
        """The rows of the elements of a CSC matrix.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().row_indices()
        Tensor([1, 0], requires_grad=False)
        """
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``. Integers give the default float dtype.

        >>> lucid.rsqrt(lucid.tensor([4.0, 0.25]))
        Tensor([0.5, 2.0], requires_grad=False)
        """
    def rsqrt_(self) -> Self:
        """`rsqrt`, written into this tensor. See there."""
    def scatter(self, dim: builtins.int = ..., index: Tensor = ..., src: Any = None, *, value: Any = None,
                reduce: str | None = None, axis: Any = ...) -> Tensor:
        """`input` with `src` (a tensor or number) written where `gather` would read; the last of several writes stays.

        Raises IndexError out of range. ``reduce='add'`` adds, ``'multiply'`` multiplies with what is there.

        >>> lucid.scatter(lucid.zeros(2, 3), 1, lucid.tensor([[2], [0]]), lucid.tensor([[5.0], [7.0]]))
        Tensor([[0.0, 0.0, 5.0],
                [7.0, 0.0, 0.0]], requires_grad=False)
        """
    def scatter_(self, dim: builtins.int = ..., index: Tensor = ..., src: Any = None, *, value: Any = None,
                 reduce: str | None = None, axis: Any = ...) -> Self:
        """`scatter` into this tensor itself."""
    def scatter_add(self, dim: builtins.int = ..., index: Tensor = ..., src: Tensor = ..., *, axis: Any = ...) -> Tensor:
        """`input` with `src` added where `gather` would read; repeated indices add up. Raises IndexError out of range.

        >>> lucid.scatter_add(lucid.zeros(3), 0, lucid.tensor([0, 2, 0]), lucid.tensor([1.0, 2.0, 3.0]))
        Tensor([4.0, 0.0, 2.0], requires_grad=False)
        """
    def scatter_add_(self, dim: builtins.int = ..., index: Tensor = ..., src: Tensor = ..., *, axis: Any = ...) -> Self:
        """`scatter_add` into this tensor itself."""
    def scatter_reduce(self, dim: builtins.int = ..., index: Tensor = ..., src: Tensor = ..., reduce: str = ..., *,
                       include_self: builtins.bool = True, axis: Any = ...) -> Tensor:
        """`input` with `src` combined by `reduce` ('sum', 'prod', 'mean', 'amax', 'amin') where `gather` would read.

        Without `include_self` the elements that are written to do not take part themselves. Elements that tie for an extremum
        share its gradient. Raises IndexError out of range, RuntimeError for shapes and dtypes that do not fit.

        >>> lucid.scatter_reduce(lucid.zeros(2), 0, lucid.tensor([0, 1, 1]), lucid.tensor([1.0, 2.0, 3.0]), "amax")
        Tensor([1.0, 3.0], requires_grad=False)
        """
    def scatter_reduce_(self, dim: builtins.int = ..., index: Tensor = ..., src: Tensor = ..., reduce: str = ..., *,
                        include_self: builtins.bool = True, axis: Any = ...) -> Self:
        """`scatter_reduce` into this tensor itself."""
    def select(self, dim: builtins.int = ..., index: builtins.int = ..., *, axis: Any = ...) -> Tensor:
        """The slice at `index` along `dim`, which is removed. A view. Raises IndexError for an `index` that there is not.

        >>> lucid.select(lucid.tensor([[1, 2], [3, 4]]), 1, 0)
        Tensor([1, 3], requires_grad=False)
        """
    def select_scatter(self, src: Tensor, dim: builtins.int = ..., index: builtins.int = ..., *, axis: Any = ...) -> Tensor:
        """A copy of `input` with `src` at `index` of dimension `dim`.

        >>> lucid.select_scatter(lucid.zeros(2, 2), lucid.ones(2), 0, 1)
        Tensor([[0.0, 0.0],
                [1.0, 1.0]], requires_grad=False)
        """
    def set_(self, source: Tensor | UntypedStorage | None = None, storage_offset: builtins.int = 0, size: Any = None,
             stride: Any = None) -> Self:
        """Put the memory of `source`, a tensor or a storage, behind this tensor, and return it; without one it has no elements.

        `storage_offset`, `size` and `stride`, counted in elements, say what part of that memory it shows: by default all of a
        tensor as it is, and all of a storage as a vector. The two share elements afterwards, and the history of `source`. Raises
        RuntimeError for a leaf that requires grad, another dtype or device, and what reaches out of the memory.

        >>> x = lucid.zeros(2)
        >>> x.set_(lucid.arange(3.0))
        Tensor([0.0, 1.0, 2.0], requires_grad=False)
        >>> x
        Tensor([0.0, 1.0, 2.0], requires_grad=False)
        """
    def sgn(self) -> Tensor:
        """The sign of real elements; of complex ones, the number of modulus 1 with the same angle (0 for 0).

        >>> lucid.sgn(lucid.tensor([3 + 4j, 0j]))
        Tensor([0.6+0.8j, 0.0+0.0j], requires_grad=False)
        """
    def sgn_(self) -> Self:
        """`sgn`, written into this tensor. See there."""
    def short(self, *, memory_format: Any = ...) -> Tensor:
        """`input` as int16. Itself if it has that dtype already.

        >>> lucid.tensor([1.5, -2.5]).short()
        Tensor([ 1, -2], dtype=int16, requires_grad=False)
        """
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-input))``. Integers become the default float dtype.

        >>> lucid.sigmoid(lucid.tensor([-1.0, 0.0, 100.0]))
        Tensor([0.2689, 0.5000, 1.0000], requires_grad=False)
        """
    def sigmoid_(self) -> Self:
        """`sigmoid`, written into this tensor. See there."""
    def sign(self) -> Tensor:
        """-1, 0 or 1. Raises NotImplementedError for complex numbers: use `sgn`.

        >>> lucid.sign(lucid.tensor([-3.0, 0.0, 7.0]))
        Tensor([-1.0,  0.0,  1.0], requires_grad=False)
        """
    def sign_(self) -> Self:
        """`sign`, written into this tensor. See there."""
    def signbit(self) -> Tensor:
        """Where the sign is set, that of -0.0 and NaN included, as bool. Raises NotImplementedError for complex tensors.

        >>> lucid.signbit(lucid.tensor([-1.0, -0.0, 0.0]))
        Tensor([ True,  True, False], requires_grad=False)
        """
    def sin(self) -> Tensor:
        """The sine of radians. Integers give the default float dtype.

        >>> lucid.sin(lucid.tensor([0.0, lucid.pi / 2]))
        Tensor([0.0, 1.0], requires_grad=False)
        """
    def sin_(self) -> Self:
        """`sin`, written into this tensor. See there."""
    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0. Integers give the default float dtype.

        >>> lucid.sinc(lucid.tensor([0.0, 0.5]))
        Tensor([1.0000, 0.6366], requires_grad=False)
        """
    def sinc_(self) -> Self:
        """`sinc`, written into this tensor. See there."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine. Integers give the default float dtype.

        >>> lucid.sinh(lucid.tensor([-1.0, 0.0, 1.0]))
        Tensor([-1.1752,  0.0000,  1.1752], requires_grad=False)
        """
    def sinh_(self) -> Self:
        """`sinh`, written into this tensor. See there."""
    def slice_scatter(self, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None,
                      end: builtins.int | None = None, step: builtins.int = 1, *, axis: Any = ...) -> Tensor:
        """A copy of `input` with `src` at ``start:end:step`` of dimension `dim`.

        >>> lucid.slice_scatter(lucid.zeros(4), lucid.ones(2), 0, 1, 3)
        Tensor([0.0, 1.0, 1.0, 0.0], requires_grad=False)
        """
    def slogdet(self) -> SlogDet:
        """`linalg.slogdet`.

        >>> lucid.linalg.slogdet(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
        SlogDet(sign=Tensor(-1.0, requires_grad=False), logabsdet=Tensor(0.6931, requires_grad=False))
        """
    def smm(self, mat2: Tensor) -> Tensor:
        """The product of a sparse matrix and a dense one as a sparse one.

        >>> lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse().smm(lucid.ones(2, 1)).values()
        Tensor([2.0], requires_grad=False)
        """
    def softmax(self, dim: builtins.int = ..., dtype: Any = None, *, axis: Any = ...) -> Tensor:
        """``exp(input) / sum(exp(input))`` along `dim`, of any shape; converted to `dtype` first if it is given.

        Raises IndexError for a dimension that does not exist and NotImplementedError for a dtype that is not floating.

        >>> F.softmax(lucid.tensor([[0.0, 0.0], [0.0, 1.0]]), dim=1)
        Tensor([[0.5000, 0.5000],
                [0.2689, 0.7311]], requires_grad=False)
        """
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = False, *,
             axis: Any = ...) -> ValuesIndices:
        """The elements in order along `dim`, and the int64 indices that they came from; NaN counts as the largest.

        The order of equal elements is always kept, whatever `stable` says.

        >>> lucid.sort(lucid.tensor([3, 1, 2]))
        ValuesIndices(values=Tensor([1, 2, 3], requires_grad=False), indices=Tensor([1, 2, 0], requires_grad=False))
        >>> lucid.sort(lucid.tensor([[3, 1], [2, 5]]), dim=0, descending=True).values
        Tensor([[3, 5],
                [2, 1]], requires_grad=False)
        """
    def sparse_dim(self) -> builtins.int:
        """How many dimensions are sparse; 0 for a dense tensor.

        >>> lucid.zeros(2, 3).to_sparse(1).sparse_dim()
        1
        """
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of `input` in the places that `mask`, a sparse tensor of its shape, keeps.

        >>> mask = lucid.tensor([1.0, 0.0, 1.0]).to_sparse()
        >>> lucid.tensor([5.0, 6.0, 7.0]).sparse_mask(mask).to_dense()
        Tensor([5.0, 0.0, 7.0], requires_grad=False)
        """
    def split(self, split_size_or_sections: Any = None, dim: builtins.int = 0, *, split_size: Any = None,
              axis: Any = ...) -> tuple[Tensor, ...]:
        """Views of length `split_size` along `dim` (the last may be shorter), or of the given lengths.

        >>> lucid.split(lucid.arange(5), 2)
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        >>> lucid.split(lucid.arange(5), [1, 4])
        (Tensor([0], requires_grad=False), Tensor([1, 2, 3, 4], requires_grad=False))
        """
    def split_with_sizes(self, split_sizes: Any, dim: builtins.int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
        """Views of the given lengths along `dim`, as by `split`.

        >>> lucid.split_with_sizes(lucid.arange(5), [2, 3])
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3, 4], requires_grad=False))
        """
    def sqrt(self) -> Tensor:
        """The square root; NaN below 0. Integers give the default float dtype.

        >>> lucid.sqrt(lucid.tensor([4.0, 2.0, -1.0]))
        Tensor([2.0000, 1.4142,    nan], requires_grad=False)
        """
    def sqrt_(self) -> Self:
        """`sqrt`, written into this tensor. See there."""
    def square(self) -> Tensor:
        """``input ** 2``; bools give int64.

        >>> lucid.square(lucid.tensor([-2.0, 3.0]))
        Tensor([4.0, 9.0], requires_grad=False)
        """
    def square_(self) -> Self:
        """`square`, written into this tensor. See there."""
    def squeeze(self, dim: Any = None, *, axis: Any = ...) -> Tensor:
        """Without the dimensions of length 1, or without those of `dim` that have length 1.

        >>> lucid.squeeze(lucid.zeros(1, 2, 1)).shape, lucid.squeeze(lucid.zeros(1, 2, 1), 0).shape
        (lucid.Size([2]), lucid.Size([2, 1]))
        """
    def squeeze_(self, dim: Any = None, *, axis: Any = ...) -> Self:
        """`squeeze` of this tensor itself: the memory stays, its shape changes."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """``beta * input + alpha * smm(mat1, mat2)`` of a sparse matrix.

        >>> a = lucid.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        >>> a.sspaddmm(a, lucid.ones(2, 2)).to_dense()
        Tensor([[2.0, 4.0],
                [0.0, 0.0]], requires_grad=False)
        """
    def std(self, dim: Any = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *,
            correction: builtins.float | None = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The square root of `var`; where it is 0, so is the gradient.

        >>> lucid.std(lucid.tensor([1.0, 2.0, 3.0]))
        Tensor(1.0, requires_grad=False)
        >>> lucid.std(lucid.tensor([1.0, 2.0, 3.0]), correction=0)
        Tensor(0.8165, requires_grad=False)
        """
    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None,
             window: Tensor | None = None, center: builtins.bool = True, pad_mode: str = 'reflect',
             normalized: builtins.bool = False, onesided: builtins.bool | None = None,
             return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
        """The Fourier transforms of windows of a signal: ``(time,)`` or ``(batch, time)`` gives ``([batch,] frequency, frame)``.

        Frames of `n_fft` samples, `hop_length` (a quarter of that) apart, are multiplied by `window`, which has `win_length`
        numbers (`n_fft`) and is put in the middle of the frame. With `center` frame t lies around sample ``t hop_length`` of the
        signal, extended at its ends by `pad_mode`; without, `align_to_window` begins with the window instead of the frame
        at the first sample. `normalized` divides by the root of `n_fft`. `onesided` (for real numbers) gives the first
        ``n_fft // 2 + 1`` frequencies. Without `return_complex` the result is real, with a last dimension of 2 (deprecated).

        Raises RuntimeError for lengths that do not fit, real input without `return_complex`, and one-sided spectra of complex
        numbers.

        >>> x = lucid.sin(lucid.arange(32.0))
        >>> lucid.stft(x, n_fft=8, return_complex=True).shape  # frequencies, frames
        lucid.Size([5, 17])
        """
    def storage(self) -> TypedStorage:
        """`untyped_storage` counted in elements; deprecated.

        >>> storage = lucid.arange(3.0)[1:].storage()
        >>> storage.size(), storage.dtype
        (3, dtype('float32'))
        """
    def storage_offset(self) -> builtins.int:
        """How many elements lie in memory between the first of the array that owns it and the first of this tensor.

        >>> lucid.arange(6)[2:].storage_offset()
        2
        """
    def sub(self, other: Operand, *, alpha: Any = 1) -> Tensor:
        """``input - alpha * other``. Raises RuntimeError for bool tensors, as PyTorch does: use ``^`` or logical_not.

        >>> lucid.sub(lucid.tensor([10, 20]), lucid.tensor([1, 2]), alpha=3)
        Tensor([ 7, 14], requires_grad=False)
        """
    def sub_(self, other: Operand, *, alpha: Any = 1) -> Self:
        """`sub`, written into this tensor. See there."""
    def subtract(self, other: Operand, *, alpha: Any = 1) -> Tensor:
        """``input - alpha * other``. Raises RuntimeError for bool tensors, as PyTorch does: use ``^`` or logical_not.

        >>> lucid.sub(lucid.tensor([10, 20]), lucid.tensor([1, 2]), alpha=3)
        Tensor([ 7, 14], requires_grad=False)
        """
    def subtract_(self, other: Operand, *, alpha: Any = 1) -> Self:
        """`sub`, written into this tensor. See there."""
    def sum(self, dim: Any = None, keepdim: builtins.bool = False, *, dtype: Any = None, axis: Any = ...,
            keepdims: Any = ...) -> Tensor:
        """The sum over `dim`. Integers and bools give int64 unless `dtype` is given; half precision is summed in float32.

        >>> lucid.sum(lucid.tensor([[1, 2], [3, 4]]))
        Tensor(10, requires_grad=False)
        >>> lucid.sum(lucid.tensor([[1, 2], [3, 4]]), dim=0)
        Tensor([4, 6], requires_grad=False)
        """
    def sum_to_size(self, *sizes: Any, size: Any = ...) -> Tensor:
        """The sum over the dimensions in which a tensor of `size` would be broadcast to this one. Raises RuntimeError otherwise.

        >>> lucid.ones(2, 3).sum_to_size(1, 3)
        Tensor([[2.0, 2.0, 2.0]], requires_grad=False)
        """
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> OldSVD:
        """`linalg.svd` as it was: reduced if `some`, with V in the place of its adjoint; without `compute_uv` U and V are zeros.

        >>> u, s, v = lucid.svd(lucid.tensor([[3.0, 0.0], [0.0, 4.0]]))
        >>> s
        Tensor([4.0, 3.0], requires_grad=False)
        """
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """Two dimensions exchanged: `transpose` with NumPy's names.

        >>> lucid.swapaxes(lucid.zeros(2, 3, 4), 0, 2).shape
        lucid.Size([4, 3, 2])
        """
    def swapaxes_(self, axis0: builtins.int, axis1: builtins.int) -> Self:
        """`swapaxes` of this tensor itself: the memory stays, its shape changes."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged. A view.

        >>> lucid.swapdims(lucid.zeros(2, 3, 4), 0, 2).shape
        lucid.Size([4, 3, 2])
        """
    def swapdims_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """`transpose` of this tensor itself: the memory stays, its shape changes."""
    def t(self) -> Tensor:
        """The transpose of a matrix; tensors of fewer dimensions as they are.

        >>> lucid.t(lucid.tensor([[1, 2], [3, 4]]))
        Tensor([[1, 3],
                [2, 4]], requires_grad=False)
        """
    def t_(self) -> Self:
        """`t` of this tensor itself: the memory stays, its shape changes."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at positions `index` of the flattened tensor, in the shape of `index`; -1 is the last.

        >>> lucid.take(lucid.tensor([[1, 2], [3, 4]]), lucid.tensor([3, 0]))
        Tensor([4, 1], requires_grad=False)
        """
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None, *, axis: Any = ...) -> Tensor:
        """`gather` with broadcasting; without `dim`, from the flattened tensor.

        Along `dim` indices count modulo its length; without it, raises IndexError out of range.

        >>> x = lucid.tensor([[3, 1], [2, 5]])
        >>> lucid.take_along_dim(x, x.argsort(dim=1), dim=1)
        Tensor([[1, 3],
                [2, 5]], requires_grad=False)
        """
    def tan(self) -> Tensor:
        """The tangent of radians. Integers give the default float dtype.

        >>> lucid.tan(lucid.tensor([0.0, lucid.pi / 4]))
        Tensor([0.0, 1.0], requires_grad=False)
        """
    def tan_(self) -> Self:
        """`tan`, written into this tensor. See there."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent. Integers become the default float dtype.

        >>> lucid.tanh(lucid.tensor([-1.0, 0.0, 100.0]))
        Tensor([-0.7616,  0.0000,  1.0000], requires_grad=False)
        """
    def tanh_(self) -> Self:
        """`tanh`, written into this tensor. See there."""
    def tensor_split(self, indices_or_sections: Any = None, dim: builtins.int = 0, *, indices: Any = None,
                     sections: Any = None, tensor_indices_or_sections: Any = None, axis: Any = ...) -> tuple[Tensor, ...]:
        """Views along `dim`: that many, of lengths that differ by at most 1, or cut at the given indices (a list or a vector).

        A tensor of one number counts as that number. `indices`, `sections` and `tensor_indices_or_sections` are other names of
        `indices_or_sections`. Raises RuntimeError for a 0-d `input` and for less than one part.

        >>> lucid.tensor_split(lucid.arange(5), 3)
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        >>> lucid.tensor_split(lucid.arange(5), (1, 4))
        (Tensor([0], requires_grad=False), Tensor([1, 2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        """
    def tile(self, *sizes: Any, dims: Any = ...) -> Tensor:
        """`repeat` with missing counts, in front, taken as 1.

        >>> lucid.tile(lucid.tensor([1, 2]), (2, 2))
        Tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]], requires_grad=False)
        """
    def to(self, *args: Any, **keywords: Any) -> Tensor:
        """`input` with another dtype, on another device or in another memory format: ``to(dtype)``, ``to(device)``,
        ``to(device, dtype)``, ``to(other)``, ``to(memory_format=...)``. Returns `input` itself if nothing changes, unless
        ``copy=True``. Takes and raises what `destination` does.

        >>> x = lucid.ones(2)
        >>> x.to(lucid.float64)
        Tensor([1.0, 1.0], dtype=float64, requires_grad=False)
        >>> x.to("meta").device
        device(type='meta')
        >>> x.to("cpu") is x
        True
        """
    def to_dense(self, dtype: Any = None, *, masked_grad: builtins.bool | None = None) -> Tensor:
        """A dense tensor with zeros where a sparse one keeps nothing; of a dense one, itself.

        >>> lucid.tensor([0.0, 5.0]).to_sparse().to_dense()
        Tensor([0.0, 5.0], requires_grad=False)
        """
    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """`to` a device, by its name in the array API standard. Raises ValueError for a `stream`: work is ordered by `gpu.stream`.

        >>> lucid.ones(2).to_device("cpu").device
        device(type='cpu')
        """
    def to_sparse(self, sparse_dim: builtins.int | None = None, *, layout: Any = None, blocksize: Any = None,
                  dense_dim: builtins.int | None = None) -> Tensor:
        """The elements that are not zero, in a sparse layout, COO by default; `sparse_dim` dimensions are sparse, by default all.

        >>> lucid.tensor([0.0, 5.0, 0.0]).to_sparse()
        Tensor(indices=Tensor([[1]]),
               values=Tensor([5.0]),
               size=(3,), nnz=1, layout=lucid.sparse_coo, requires_grad=False)
        """
    def to_sparse_coo(self) -> Tensor:
        """`to_sparse` with the layout `sparse_coo`.

        >>> lucid.tensor([0.0, 5.0, 0.0]).to_sparse_coo().indices()
        Tensor([[1]], requires_grad=False)
        """
    def to_sparse_csc(self, dense_dim: builtins.int | None = None) -> Tensor:
        """A matrix by columns (`sparse_csc`).

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csc().values()
        Tensor([6.0, 5.0], requires_grad=False)
        """
    def to_sparse_csr(self, dense_dim: builtins.int | None = None) -> Tensor:
        """A matrix by rows (`sparse_csr`).

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().values()
        Tensor([5.0, 6.0], requires_grad=False)
        """
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *,
             axis: Any = ...) -> ValuesIndices:
        """The `k` largest (smallest) elements along `dim`, in order, and their indices.

        Raises RuntimeError if `k` is too large.

        >>> lucid.topk(lucid.tensor([3, 1, 5, 2]), 2)
        ValuesIndices(values=Tensor([5, 3], requires_grad=False), indices=Tensor([2, 0], requires_grad=False))
        """
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix; of integers as int64. Raises RuntimeError for another number of dimensions.

        >>> lucid.trace(lucid.tensor([[1, 2], [3, 4]]))
        Tensor(5, requires_grad=False)
        """
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Two dimensions exchanged. A view.

        >>> lucid.swapdims(lucid.zeros(2, 3, 4), 0, 2).shape
        lucid.Size([4, 3, 2])
        """
    def transpose_(self, dim0: builtins.int, dim1: builtins.int) -> Self:
        """`transpose` of this tensor itself: the memory stays, its shape changes."""
    def triangular_solve(self, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False,
                         unitriangular: builtins.bool = False) -> TriangularSolution:
        """`linalg.solve_triangular` with the arguments of old, and a copy of `A`; `transpose` solves with the transpose of `A`.

        >>> lucid.triangular_solve(lucid.tensor([[2.0], [4.0]]), lucid.tensor([[1.0, 0.0], [0.0, 2.0]])).solution
        Tensor([[2.0],
                [2.0]], requires_grad=False)
        """
    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """The lower triangles of matrices, zeros above diagonal number `diagonal`.

        >>> lucid.tril(lucid.ones(3, 3))
        Tensor([[1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [1.0, 1.0, 1.0]], requires_grad=False)
        >>> lucid.tril(lucid.ones(3, 3), diagonal=-1)
        Tensor([[0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0]], requires_grad=False)
        """
    def tril_(self, diagonal: builtins.int = 0) -> Self:
        """`tril`, written into this tensor. See there."""
    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """The upper triangles of matrices, zeros below diagonal number `diagonal`.

        >>> lucid.triu(lucid.ones(3, 3))
        Tensor([[1.0, 1.0, 1.0],
                [0.0, 1.0, 1.0],
                [0.0, 0.0, 1.0]], requires_grad=False)
        >>> lucid.triu(lucid.ones(3, 3), diagonal=1)
        Tensor([[0.0, 1.0, 1.0],
                [0.0, 0.0, 1.0],
                [0.0, 0.0, 0.0]], requires_grad=False)
        """
    def triu_(self, diagonal: builtins.int = 0) -> Self:
        """`triu`, written into this tensor. See there."""
    def true_divide(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """``input / other``; integers give the default float dtype.

        `rounding_mode` 'floor' and 'trunc' round the quotient, keep integer dtypes and have no gradient but zero. Integer
        division by zero raises RuntimeError ("ZeroDivisionError"), as in PyTorch.

        >>> lucid.div(lucid.tensor([7, -7]), 2)
        Tensor([ 3.5, -3.5], requires_grad=False)
        >>> lucid.div(lucid.tensor([7, -7]), 2, rounding_mode="floor")
        Tensor([ 3, -4], requires_grad=False)
        """
    def true_divide_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """`div`, written into this tensor. See there."""
    def trunc(self) -> Tensor:
        """Each element without its fraction; the gradient is 0.

        >>> lucid.trunc(lucid.tensor([1.7, -1.7]))
        Tensor([ 1.0, -1.0], requires_grad=False)
        """
    def trunc_(self) -> Self:
        """`trunc`, written into this tensor. See there."""
    @overload
    def type(self, dtype: None = None, non_blocking: builtins.bool = False) -> str:
        """The tensor in another dtype, given as such or by the name of a type; without one, the name of its type, such as
        'lucid.FloatTensor'. Raises ValueError for an unknown name.

        >>> lucid.ones(2).type()
        'lucid.FloatTensor'
        >>> lucid.ones(2).type(lucid.int64)
        Tensor([1, 1], requires_grad=False)
        """
    @overload
    def type(self, dtype: Any, non_blocking: builtins.bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """`input` with the dtype of `other`.

        >>> lucid.type_as(lucid.tensor([1, 2]), lucid.zeros(1))
        Tensor([1.0, 2.0], requires_grad=False)
        """
    def unbind(self, dim: builtins.int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
        """The slices along `dim`, which is removed. They are views, in a tuple.

        >>> lucid.unbind(lucid.tensor([[1, 2], [3, 4]]))
        (Tensor([1, 2], requires_grad=False), Tensor([3, 4], requires_grad=False))
        """
    def unflatten(self, dim: builtins.int = ..., sizes: Sequence[builtins.int] = ..., *, axis: Any = ...) -> Tensor:
        """Dimension `dim` as several of lengths `sizes`, one of which may be -1.

        >>> lucid.unflatten(lucid.zeros(2, 6), 1, (3, -1)).shape
        lucid.Size([2, 3, 2])
        """
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """The view of all windows of `size` elements along `dimension`, `step` apart: a dimension for the windows in the place of
        `dimension`, and one for their elements at the end.

        Raises RuntimeError for windows longer than the dimension and for a step that is not positive.

        >>> lucid.arange(5).unfold(0, size=3, step=2)
        Tensor([[0, 1, 2],
                [2, 3, 4]], requires_grad=False)
        """
    def uniform_(self, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Any = None) -> Self:
        """Fill with samples from the uniform distribution on [from_, to), the real and imaginary parts of complex ones alike.

        >>> x = lucid.zeros(1000).uniform_(2.0, 3.0)
        >>> bool((x >= 2).all()), bool((x <= 3).all())
        (True, True)
        """
    @overload
    def unique(self, sorted: builtins.bool = True, return_inverse: Literal[False] = False,
               return_counts: Literal[False] = False, dim: builtins.int | None = None, *, axis: Any = ...) -> Tensor:
        """The different elements in order (whether or not `sorted` asks for it), or the different slices along `dim`.

        With `return_inverse`, also where each element went, and with `return_counts` how often each appears: a tuple then. NaNs
        differ from each other. Waits for a GPU; raises NotImplementedError on the device 'meta', where the length is unknown.

        >>> lucid.unique(lucid.tensor([3, 1, 3, 2]))
        Tensor([1, 2, 3], requires_grad=False)
        >>> lucid.unique(lucid.tensor([3, 1, 3]), return_counts=True)
        (Tensor([1, 3], requires_grad=False), Tensor([1, 2], requires_grad=False))
        """
    @overload
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False,
               dim: builtins.int | None = None, *, axis: Any = ...) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False,
                           dim: builtins.int | None = None, *, axis: Any = ...) -> Tensor:
        """The first of each run of equal elements, or of equal slices along `dim`; results and errors as of `unique`.

        >>> lucid.unique_consecutive(lucid.tensor([1, 1, 2, 1]))
        Tensor([1, 2, 1], requires_grad=False)
        """
    @overload
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False,
                           dim: builtins.int | None = None, *, axis: Any = ...) -> Any: ...
    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
        """At most `chunks` views of equal length along `dim` (the last may be shorter).

        >>> lucid.chunk(lucid.arange(5), 3)
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        """
    def unsafe_split(self, split_size_or_sections: Any = None, dim: builtins.int = 0, *, split_size: Any = None,
                     axis: Any = ...) -> tuple[Tensor, ...]:
        """Views of length `split_size` along `dim` (the last may be shorter), or of the given lengths.

        >>> lucid.split(lucid.arange(5), 2)
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
        >>> lucid.split(lucid.arange(5), [1, 4])
        (Tensor([0], requires_grad=False), Tensor([1, 2, 3, 4], requires_grad=False))
        """
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: builtins.int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
        """Views of the given lengths along `dim`, as by `split`.

        >>> lucid.split_with_sizes(lucid.arange(5), [2, 3])
        (Tensor([0, 1], requires_grad=False), Tensor([2, 3, 4], requires_grad=False))
        """
    def unsqueeze(self, dim: builtins.int = ..., *, axis: Any = ...) -> Tensor:
        """With a dimension of length 1 inserted at `dim`. A view. Raises IndexError for a `dim` outside [-n - 1, n].

        >>> lucid.unsqueeze(lucid.tensor([1, 2]), 1)
        Tensor([[1],
                [2]], requires_grad=False)
        """
    def unsqueeze_(self, dim: builtins.int = ..., *, axis: Any = ...) -> Self:
        """`unsqueeze` of this tensor itself: the memory stays, its shape changes."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory that the tensor, or what it is a view of, lies in.

        >>> lucid.zeros(3).untyped_storage().nbytes()
        12
        """
    def values(self) -> Tensor:
        """The elements that a coalesced or compressed tensor keeps. Raises RuntimeError for others.

        >>> lucid.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().values()
        Tensor([5.0, 6.0], requires_grad=False)
        """
    def var(self, dim: Any = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *,
            correction: builtins.float | None = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
        """The variance over `dim`: the squares of the distances from the mean, divided by ``n - correction`` (1 by
        default).

        NaN if no degree of freedom is left. Raises RuntimeError for integers and bools.

        >>> lucid.var(lucid.tensor([1.0, 2.0, 3.0]))
        Tensor(1.0, requires_grad=False)
        >>> lucid.var(lucid.tensor([[1.0, 3.0], [2.0, 8.0]]), dim=1, correction=0)
        Tensor([1.0, 9.0], requires_grad=False)
        """
    def vdot(self, other: Tensor) -> Tensor:
        """`dot` with the complex conjugate of `input`.

        >>> lucid.vdot(lucid.tensor([1j, 2]), lucid.tensor([1j, 1]))
        Tensor(3.0+0.0j, requires_grad=False)
        """
    def view(self, *sizes: Any, size: Any = ..., dtype: Any = None) -> Tensor:
        """`reshape` that never copies; with a dtype, the same bytes as that dtype.

        Raises RuntimeError if the memory does not allow the shape: use `reshape` then.

        >>> lucid.arange(6).view(2, 3)
        Tensor([[0, 1, 2],
                [3, 4, 5]], requires_grad=False)
        >>> lucid.tensor([1.0]).view(lucid.int32)
        Tensor([1065353216], dtype=int32, requires_grad=False)
        """
    def view_as(self, other: Tensor) -> Tensor:
        """`view` with the shape of `other`.

        >>> lucid.view_as(lucid.arange(4), lucid.zeros(2, 2))
        Tensor([[0, 1],
                [2, 3]], requires_grad=False)
        """
    def vsplit(self, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
        """Views along dimension 0: that many of equal length, or cut at the indices.

        >>> lucid.vsplit(lucid.tensor([[1, 2], [3, 4]]), 2)
        (Tensor([[1, 2]], requires_grad=False), Tensor([[3, 4]], requires_grad=False))
        """
    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Elements of this tensor where `condition` is true, else of `other`. See `lucid.where`.

        >>> x = lucid.tensor([-1.0, 2.0])
        >>> x.where(x > 0, 0.0)
        Tensor([0.0, 2.0], requires_grad=False)
        """
    def xlogy(self, other: Operand) -> Tensor:
        """``input * log(other)``, 0 where `input` is 0 and `other` is not NaN; either may be a number.

        >>> lucid.xlogy(lucid.tensor([0.0, 2.0]), lucid.tensor([0.0, lucid.e]))
        Tensor([0.0, 2.0], requires_grad=False)
        """
    def xlogy_(self, other: Operand) -> Self:
        """`xlogy`, written into this tensor. See there."""
    def zero_(self) -> Self:
        """Write 0 into every element.

        >>> x = lucid.ones(2)
        >>> lucid.zero_(x)
        Tensor([0.0, 0.0], requires_grad=False)
        >>> x
        Tensor([0.0, 0.0], requires_grad=False)
        """
