"""Parametrizations of weights: weight and spectral normalization. `orthogonal` has a module of its own.

>>> from lucid.nn.utils.parametrizations import weight_norm
>>> layer = weight_norm(nn.Linear(2, 3))
>>> layer.parametrizations.weight.original0.shape  # the norms
lucid.Size([3, 1])
"""
from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops.linalg.matmul import mv, vdot
from ...ops.linalg.matrices import adjoint
from ...ops.linalg.norm import norm_except_dim
from ...tensor import Tensor
from ..modules.module import Module
from ._orthogonal import orthogonal
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, normalized, output_dim
from .weight_norm import scaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# ---- weight normalization ----------------------------------------------------------------------------------------------
class _WeightNorm(Module):
    """A weight from its magnitude (`original0`) and its direction (`original1`)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


class _RenameOldKeys:
    """Before a load: the keys of `nn.utils.weight_norm`, weight_g and weight_v, become those of the parametrization."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *details: Any) -> None:
        old = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{number}"] = state_dict.pop(key)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Write the tensor `name` of `module` as a magnitude times a direction (Salimans and Kingma, "Weight normalization", 2016);
    returns `module`.

    ``module.parametrizations.weight.original0`` is the norm over all dimensions but `dim`, with length 1 in these (over all
    dimensions, a 0-d tensor, for None), and ``original1`` the direction, whose length does not matter. State dicts of the
    older `nn.utils.weight_norm` can be loaded. Raises ValueError for a name that is neither a parameter nor a buffer.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> sorted(layer.state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_RenameOldKeys(name))
    return module


# ---- spectral normalization ----------------------------------------------------------------------------------------------
class _SpectralNorm(Module):
    """A weight divided by its largest singular value; its singular vectors are estimated in the buffers _u and _v."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got "
                             f"{dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, normalized(weight.detach().new_empty(size).normal_(0, 1), eps))
            # Good singular vectors from the start: evaluation mode does not improve them.
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        """Make the left and right singular vectors better, in place."""
        for _ in range(n_power_iterations):
            self._u.copy_(normalized(mv(matrix, self._v), self.eps))
            self._v.copy_(normalized(mv(adjoint(matrix), self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalized(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next forward pass writes into _u and _v, before the backward pass of this one perhaps.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # a good guess, as the norm of a trained weight stays near 1


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide the tensor `name` of `module` by its largest singular value (Miyato et al., "Spectral normalization for generative
    adversarial networks", 2018), a vector by its norm; returns `module`.

    The singular value is estimated by the power method: 15 steps now, and `n_power_iterations` each time that the tensor is
    read in training mode. `dim` is the dimension of the outputs, 0, or 1 in transposed convolutions; a weight of more than
    two dimensions is seen as a matrix with these as rows. Norms below `eps` count as `eps`.

    Raises ValueError for a name without a tensor and for no iterations, IndexError for a dimension that does not exist.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=20)
    >>> lucid.linalg.matrix_norm(layer.weight, 2).round(decimals=2).item()
    1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps))
