"""What the scripts about hooks share: modules, and hooks that show what they have seen."""
from __future__ import annotations

from typing import Any

import lucid


def layer(torch: Any, forward: Any) -> Any:
    """A module that computes `forward`, and takes keyword arguments."""
    class Layer(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return forward(*args, **kwargs)

    return Layer()


def double(torch: Any) -> Any:
    return layer(torch, lambda x: x * 2)


def leaf(torch: Any, *shape: int) -> Any:
    return torch.ones(*(shape or (2,)), requires_grad=True)


def lists(gradients: Any) -> Any:
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


def watched(torch: Any, forward: Any) -> tuple[Any, list[Any]]:
    """A layer with a full backward hook, and the list of what the hook has seen."""
    module, seen = layer(torch, forward), []
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((lists(gin), lists(gout))))
    return module, seen


def everywhere(torch: Any) -> Any:
    """The module with the hooks of all modules, where the kind of the backward hooks is not chosen yet."""
    module = torch.nn.modules.module
    if torch is lucid:
        from lucid.nn.modules.module import global_hooks as _global_hooks

        _global_hooks.is_full = None
    else:
        module._global_is_full_backward_hook = None
    return module


def returning(what: Any) -> Any:
    """A script: a full backward hook returns ``what(torch, grad_input)``."""
    def script(torch: Any) -> Any:
        module, x = torch.nn.Identity(), leaf(torch, 2, 3)
        module.register_full_backward_hook(lambda m, gin, gout: what(torch, gin))
        module(x).sum().backward()
        return x.grad

    return script


def module_level_hook(module: Any, args: Any, output: Any) -> Any:
    return output + 1


def module_level_load_hook(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    state_dict[prefix + "bias"] = state_dict[prefix + "bias"] + 5


def fail(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("forward")


def attempt(function: Any, *args: Any, **kwargs: Any) -> str:
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return "no error"
