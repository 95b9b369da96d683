"""All parameters of a model as one vector, and back."""
from __future__ import annotations

from collections.abc import Iterable

from ...ops.manipulation.joining import cat
from ...tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other: a tensor of one dimension, differentiable.

    Raises TypeError for parameters on several devices, RuntimeError for one that is not contiguous and for none at all.

    >>> nn.utils.parameters_to_vector([lucid.ones(2), lucid.zeros(1, 2)])
    Tensor([1.0, 1.0, 0.0, 0.0], requires_grad=False)
    """
    listed = list(parameters)
    _require_one_device(listed)
    return cat([parameter.view(-1) for parameter in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Put slices of `vec`, sharing its memory, behind the parameters, in their order and shapes; what is left over of `vec`
    is not used.

    Raises TypeError if `vec` is not a tensor or the parameters are on several devices, RuntimeError if it is too short, and
    then changes nothing.

    >>> layer = nn.Linear(1, 2)
    >>> nn.utils.vector_to_parameters(lucid.arange(4.0), layer.parameters())
    >>> layer.bias.detach()
    Tensor([2.0, 3.0], requires_grad=False)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected lucid.Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    _require_one_device(listed)
    slices, start = [], 0
    for parameter in listed:
        end = start + parameter.numel()
        slices.append(vec.data[start:end].view(parameter.shape))
        start = end
    for parameter, part in zip(listed, slices, strict=True):
        parameter.data = part


def _require_one_device(parameters: list[Tensor]) -> None:
    if any(parameter.device != parameters[0].device for parameter in parameters):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
