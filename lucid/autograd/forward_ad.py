"""Forward mode: dual tensors, whose tangents follow them through operations.

Inside of `dual_level`, `make_dual` gives a tensor a tangent, and `unpack_dual` the tangent of a result: the derivative of the
result along the tangents of the inputs, computed together with it. No graph is needed, and `no_grad` changes nothing; what is
recorded nevertheless can be differentiated, also by `backward`.

>>> from lucid.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(lucid.tensor(3.0), lucid.tensor(1.0))
...     print(forward_ad.unpack_dual(x * x).tangent)
Tensor(6.0, requires_grad=False)
"""
from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from .. import _dtypes
from ..tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns.

    >>> from lucid.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lucid.tensor([3.0]), lucid.tensor([1.0]))
    ...     primal, tangent = forward_ad.unpack_dual(x * x)
    >>> primal, tangent
    (Tensor([9.0], requires_grad=False), Tensor([6.0], requires_grad=False))
    """

    primal: Tensor
    tangent: Tensor | None


_entered: list[tuple[Any, Any]] = []  # the level and its context, if there is one


def enter_dual_level() -> int:
    """Begin a level, and return its number. RuntimeError inside of another one, as in PyTorch.

    >>> from lucid.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(lucid.tensor([3.0]), lucid.tensor([1.0]))
    >>> forward_ad.unpack_dual(x.exp().log()).tangent
    Tensor([1.0], requires_grad=False)
    >>> forward_ad.exit_dual_level()
    """
    from ..levels.lifted import Level  # not with lucid: only transforms need these
    from .transforms import entered

    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = Level()
    context = entered(level)
    context.__enter__()
    _entered.append((level, context))
    return len(_entered) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level. RuntimeError if there is none, or another number is given.

    >>> from lucid.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    if not _entered or (level is not None and level != len(_entered) - 1):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _, context = _entered.pop()
    context.__exit__(None, None, None)


class dual_level:
    """A context manager: the level of dual tensors, which ends with it.

    >>> from lucid.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lucid.tensor([3.0]), lucid.tensor([1.0]))
    ...     print(forward_ad.unpack_dual(x * x).tangent)
    Tensor([6.0], requires_grad=False)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent, over the same memory.

    Raises RuntimeError outside of a level and for a tangent of another shape, dtype or device, ValueError for other dtypes than
    floating and complex ones.

    >>> from lucid.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lucid.tensor([3.0]), lucid.tensor([1.0]))
    ...     print(forward_ad.unpack_dual(x ** 2).tangent)
    Tensor([6.0], requires_grad=False)
    """
    from .lifting import with_tangent

    if not _entered:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() "
                           "first.")
    for name, part in (("primal", tensor), ("tangent", tangent)):
        if not _dtypes.is_differentiable(part.dtype):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {part.dtype}")
    check_tangent(tensor, tangent)
    return with_tangent(tensor, tangent, _entered[-1][0])


def check_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Raise RuntimeError for a tangent that does not fit `tensor`."""
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                           f"not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
                           f"{list(tangent.shape)}.")
    if tangent.dtype != tensor.dtype or tangent.device != tensor.device:
        raise RuntimeError("Expected tangent to be on the same device and to have the same dtype as the tensor, but got "
                           f"{tangent.dtype} on {tangent.device} for {tensor.dtype} on {tensor.device}")


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent: None if it has none, and outside of a level.

    >>> from lucid.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     print(forward_ad.unpack_dual(lucid.tensor([3.0])).tangent)
    None
    """
    from .lifting import tangent_of, value_of

    if not _entered:
        return UnpackedDualTensor(tensor, None)
    inner = _entered[-1][0]
    return UnpackedDualTensor(value_of(tensor, inner), tangent_of(tensor, inner))
