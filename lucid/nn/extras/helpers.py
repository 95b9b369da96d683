"""Decorators of modules, and functions of `lucid.nn.utils`."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...ops.manipulation.joining import cat
from ...tensor import Tensor
from .. import functional as F
from ..utils.clip_grad import clip_grad_value_, get_total_norm

__all__ = ["apply_chunking_to_forward", "auto_repr", "clip_grad_value", "get_activation_from_name", "grad_norm",
           "set_state_dict_pass_attr"]

Class = TypeVar("Class", bound=type)


def auto_repr(*attr_names: str) -> Callable[[Class], Class]:
    """A decorator of modules: these attributes stand in their `repr`.

    >>> @nn.auto_repr("size")
    ... class Layer(nn.Module):
    ...     def __init__(self, size):
    ...         super().__init__()
    ...         self.size = size
    >>> Layer(3)
    Layer(size=3)
    """
    def decorated(kind: Class) -> Class:
        def extra_repr(self: Any) -> str:
            return ", ".join(f"{name}={getattr(self, name, None)}" for name in attr_names)

        kind.extra_repr = extra_repr  # type: ignore[attr-defined]
        return kind

    return decorated


def set_state_dict_pass_attr(*attr_names: str) -> Callable[[Class], Class]:
    """A decorator of modules: `state_dict` leaves these parameters and buffers out, `load_state_dict` does not ask for them.

    >>> @nn.set_state_dict_pass_attr("bias")
    ... class Layer(nn.Linear):
    ...     pass
    >>> list(Layer(2, 3).state_dict())
    ['weight']
    """
    def decorated(kind: Any) -> Any:
        plain_save, plain_load = kind._save_to_state_dict, kind._load_from_state_dict

        def save(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
            plain_save(self, destination, prefix, keep_vars)
            for name in attr_names:
                destination.pop(prefix + name, None)

        def load(self: Any, state_dict: Any, prefix: str, metadata: Any, strict: bool, missing_keys: Any, *others: Any) -> None:
            plain_load(self, state_dict, prefix, metadata, strict, missing_keys, *others)
            left_out = {prefix + name for name in attr_names}
            missing_keys[:] = [key for key in missing_keys if key not in left_out]

        kind._save_to_state_dict, kind._load_from_state_dict = save, load
        return kind

    return decorated


def apply_chunking_to_forward(forward_fn: Callable[..., Tensor], chunk_size: int, chunk_dim: int,
                              *input_tensors: Tensor) -> Tensor:
    """`forward_fn` of parts of the tensors, `chunk_size` long along `chunk_dim`, joined again: it needs less memory at a time.

    Of the tensors as they are if `chunk_size` is 0. Raises ValueError for lengths that do not fit.

    >>> nn.utils.apply_chunking_to_forward(nn.ReLU(), 2, 0, lucid.tensor([-1.0, 2.0, -3.0, 4.0]))
    Tensor([0.0, 2.0, 0.0, 4.0], requires_grad=False)
    """
    if not input_tensors:
        raise ValueError("input_tensors must contain at least one tensor.")
    if chunk_size < 0:
        raise ValueError(f"chunk_size must be >= 0 (got {chunk_size}).")
    lengths = {tensor.size(chunk_dim) for tensor in input_tensors}
    if len(lengths) > 1:
        raise ValueError(f"All input_tensors must have the same length at chunk_dim {chunk_dim} (got {sorted(lengths)}).")
    if not chunk_size:
        return forward_fn(*input_tensors)
    (length,) = lengths
    if length % chunk_size:
        raise ValueError("The dimension to be chunked must be divisible by chunk_size "
                         f"(got dim_size={length}, chunk_size={chunk_size}).")
    parts = zip(*[tensor.split(chunk_size, chunk_dim) for tensor in input_tensors], strict=True)
    return cat([forward_fn(*part) for part in parts], chunk_dim)


def get_activation_from_name(act_name: str) -> Callable[..., Tensor] | None:
    """The function of that name in `lucid.nn.functional`; None if there is none.

    >>> nn.utils.get_activation_from_name("relu")(lucid.tensor([-1.0, 2.0]))
    Tensor([0.0, 2.0], requires_grad=False)
    """
    return getattr(F, act_name, None) if act_name in F.__all__ else None


def grad_norm(parameters: Iterable[Tensor] | Tensor, norm_type: float = 2) -> Tensor:
    """The norm of all gradients together.

    >>> w = nn.Parameter(lucid.tensor([3.0, 4.0]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.grad_norm([w])
    Tensor(5.0, requires_grad=False)
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return get_total_norm([parameter.grad for parameter in listed if parameter.grad is not None], norm_type)


def clip_grad_value(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Limit each element of the gradients to between ``-clip_value`` and `clip_value`, in place.

    >>> w = nn.Parameter(lucid.tensor([3.0, -0.5]))
    >>> (w * w / 2).sum().backward()
    >>> nn.utils.clip_grad_value([w], 1.0)
    >>> w.grad
    Tensor([ 1.0, -0.5], requires_grad=False)
    """
    clip_grad_value_(parameters, clip_value)
