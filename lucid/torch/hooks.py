"""The deprecated `register_backward_hook`: a hook is shown the gradients that the last operation of a module gives, and
operations are not cut as in PyTorch. Where they are not the same, it is refused to look at them.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from lucid import nn
from lucid.nn.modules.module import backward_hooks
from lucid.tensor import Tensor

from . import trace
from .refused import Refused

#: Operations with the arguments that PyTorch's have.
_ALIKE = frozenset("""relu gelu silu sigmoid tanh leaky_relu fused clip dropout softmax log_softmax cross_entropy mean sum
    max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d resample pad embedding conv2d conv3d layer_norm
    batch_norm""".split())
_hook_last_node = backward_hooks.hook_last_node


class _Unlike(tuple[Any, ...]):
    """Gradients of other arguments than PyTorch's."""

    __slots__ = ()

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise Refused(f"register_backward_hook, used at {trace.caller(sys._getframe(1))}: the last operation of this module has "
                      "other arguments in PyTorch, so lucid cannot show their gradients; use register_full_backward_hook")

    __getitem__ = __iter__ = __len__ = __eq__ = __repr__ = __contains__ = __add__ = _refuse
    __hash__ = tuple.__hash__


def hook_last_node(module: Any, hooks: list[Callable[..., Any]], args: tuple[Any, ...], result: Any) -> None:
    """lucid's function of this name, with hooks that see what they see in PyTorch."""
    node = result.grad_fn if isinstance(result, Tensor) else None
    name = node.name() if node is not None else ""
    alike = isinstance(module, nn.Flatten | nn.Unflatten) or name in _ALIKE

    def shown(hook: Callable[..., Any]) -> Callable[..., Any]:
        def seen(module: Any, grad_input: Any, grad_output: Any) -> Any:
            count = len(grad_input)
            while len(grad_input) > 1 and grad_input[-1] is None:
                grad_input = grad_input[:-1]
            same = (alike and (name != "fused" or len(grad_input) == 1)) or (
                name == "add" and all(g is not None and g.shape == grad_output[0].shape for g in grad_input))
            changed = hook(module, grad_input if same else _Unlike(grad_input), grad_output)
            if changed is None:
                return None
            return (*changed, *(None,) * (count - len(changed))) if same else _Unlike()._refuse()

        return seen

    _hook_last_node(module, [shown(hook) for hook in hooks], args, result)
