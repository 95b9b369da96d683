"""Spectral normalization by a hook before each forward pass: the older form of `parametrizations.spectral_norm`."""
from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops.linalg.matmul import dot, mv
from ...ops.linalg.matrices import adjoint
from ...ops.linalg.norm import norm
from ...ops.linalg.qr_svd import svd
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
           "spectral_norm"]


def normalized(vector: Tensor, eps: float) -> Tensor:
    """`vector` divided by its norm, or by `eps` if that is larger."""
    return vector / norm(vector).clamp(min=eps)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`weight` with dimension `dim` as rows and all others as columns."""
    return weight.movedim(dim, 0).reshape(weight.shape[dim], -1)


def output_dim(module: Module, dim: int | None) -> int:
    """`dim`, by default the dimension of the outputs in a weight: 1 for transposed convolutions, else 0."""
    if dim is None:
        return int(any(cls.__name__.startswith("ConvTranspose") for cls in type(module).__mro__))
    return dim


class SpectralNorm:
    """The hook: it computes the weight `name` of a module from its parameter `name`_orig and buffers `name`_u and `name`_v."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    @property
    def computes(self) -> str:
        """The attribute of the module that the hook computes before every call: `Module.to` may leave it behind."""
        return self.name

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by its largest singular value, as estimated by u and v, after `do_power_iteration` improved them."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalized(mv(matrix.mT, u), self.eps))
                    u.copy_(normalized(mv(matrix, v), self.eps))
                # The next iteration writes into u and v; the graph keeps what it has seen.
                u, v = u.clone(), v.clone()
        return weight / dot(u, mv(matrix, v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Rename the parameter `name` of `module`, add u and v and register the hook, which is returned."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying spectral normalization")
        rows, columns = as_matrix(weight, dim).shape
        u, v = (normalized(weight.new_empty(size).normal_(0, 1).detach(), eps) for size in (rows, columns))
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # what reads the weight before the first forward pass
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again, with its present value."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class SpectralNormStateDictHook:
    """Notes the version of the hook in the metadata of a state dict."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Computes `name`_v for state dicts of PyTorch before 1.0.1, which hold the normalized weight instead."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, missing_keys: list[str],
                 unexpected_keys: list[str], error_msgs: list[str]) -> None:
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        if version is None and key not in state_dict and all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")):
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, weight, u = state_dict[f"{key}_orig"], state_dict.pop(key), state_dict[f"{key}_u"]
            matrix, sigma = as_matrix(original, self.fn.dim), (original / weight).mean()
            v = mv(_pseudo_inverse(matrix), u)
            state_dict[f"{key}_v"] = v * (sigma / dot(u, mv(matrix, v)))


def _pseudo_inverse(matrix: Tensor) -> Tensor:
    """The inverse on the space that `matrix` does not send to zero."""
    u, s, vh = svd(matrix, full_matrices=False)
    kept = s > s.amax() * max(matrix.shape) * 2.0 ** (-23 if s.itemsize == 4 else -52)
    return (adjoint(vh) * (kept / s.masked_fill(~kept, 1.0))) @ adjoint(u)


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divide the parameter `name` of `module` by its largest singular value before each forward pass (Miyato et al., "Spectral
    normalization for generative adversarial networks", 2018); returns `module`.

    The singular value is estimated by `n_power_iterations` steps of the power method at each pass in training mode, from the
    buffers `name`_u and `name`_v; the parameter itself is `name`_orig. `dim` is that of the outputs, and a weight of more
    than two dimensions is seen as a matrix with these as rows. `parametrizations.spectral_norm` is the newer form. Raises
    RuntimeError if that is done already, ValueError for a parameter that is None and for no iterations.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=20)
    >>> y = layer(lucid.ones(1, 2))
    >>> lucid.linalg.matrix_norm(layer.weight, 2).round(decimals=2).item()
    1.0
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo `spectral_norm`: the weight is one parameter again, with its present value. Raises ValueError if there is none.

    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in ((module._state_dict_hooks, SpectralNormStateDictHook),
                        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook)):
        for key, hook in list(hooks.items()):
            if isinstance(hook, kind) and hook.fn.name == name:
                del hooks[key]
    return module
