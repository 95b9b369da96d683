"""Module: the base class of all layers and models.

`registry`: parameters, buffers and submodules by name.
`call`, `global_hooks`, `backward_hooks`: calls, and hooks around them.
`conversion`, `memoised_conversion`, `rollback`: devices and dtypes: each memory is converted once, and goes back after an error.
`unregistered_tensors`: a warning about tensors that a move leaves where they are.
`materialize`: memory for modules on the device `meta`.
`state_dict`, `loading`: state dicts, and the plan by which one is loaded.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from ...._namespace.lazy import load
from ....autograd import errors
from ...parameter import Buffer, is_lazy
from . import registry as _registry
from .call import Call
from .global_hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .loading import IncompatibleKeys as _IncompatibleKeys
from .materialize import Materialization
from .state_dict import StateDict

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]

_HOOK_REGISTRIES = ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks", "_forward_hooks_with_kwargs",
                    "_forward_hooks_always_called", "_backward_pre_hooks", "_backward_hooks", "_state_dict_hooks",
                    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


class Module(Call, Materialization, StateDict):
    """The base class of layers and models, as in PyTorch.

    A subclass calls ``super().__init__()``, assigns parameters, buffers and submodules to attributes and defines `forward`::

        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.factor = nn.Parameter(lucid.ones(3))
                self.register_buffer("calls", lucid.tensor(0))

            def forward(self, x):
                self.calls += 1
                return x * self.factor

    Better than in PyTorch: `to()` swaps the arrays inside the same parameter and buffer objects; a tensor assigned to a buffer's
    name is detached and becomes the content of the same buffer; a failed `load_state_dict` changes nothing; a tensor left
    behind by `to()` is named in a warning; `repr` lists the buffers that you register.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.Parameter(lucid.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> model = Scale()
    >>> model(lucid.tensor([1.0, 2.0])).detach()
    Tensor([2.0, 4.0], requires_grad=False)
    >>> model.state_dict()
    StateDictionary([('factor', Tensor(2.0, requires_grad=False))])
    """

    dump_patches = False  # of PyTorch's old files
    call_super_init = False  # True lets a class with several bases pass arguments on to the next one
    _described_buffers: frozenset[str] = frozenset()  # buffers that extra_repr already tells about

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["_is_full_backward_hook"] = None
        state.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={})
        for registry in _HOOK_REGISTRIES:
            state[registry] = OrderedDict()
        errors.modules[id(self)] = self
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- modes and gradients -------------------------------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Put this module and all below into training or evaluation mode. Raises ValueError unless `mode` is a bool.

        >>> model = nn.Dropout(0.5).eval()
        >>> model.train().training
        True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below into evaluation mode.

        >>> model = nn.Dropout(0.5).eval()
        >>> model.training, model(lucid.ones(3))
        (False, Tensor([1.0, 1.0, 1.0], requires_grad=False))
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters: False freezes them.

        >>> layer = nn.Linear(2, 3).requires_grad_(False)
        >>> layer.weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros.

        >>> layer = nn.Linear(2, 1)
        >>> layer(lucid.ones(1, 2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                gradient._node = None
                gradient.zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn(module)`` on every submodule, children first, and on this one.

        >>> def fill(module):
        ...     if isinstance(module, nn.Linear):
        ...         _ = nn.init.ones_(module.weight)
        >>> model = nn.Sequential(nn.Linear(1, 2), nn.ReLU()).apply(fill)
        >>> model[0].weight.detach().flatten()
        Tensor([1.0, 1.0], requires_grad=False)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, **options: Any) -> None:
        """Let calls be recorded and replayed, in place; the options are those of `lucid.compile`.

        >>> model = nn.Linear(2, 3)
        >>> model.compile()
        >>> model(lucid.ones(1, 2)).shape
        lucid.Size([1, 3])
        """
        from ...._namespace.lazy import load

        self.__dict__.pop("forward", None)
        self.__dict__["forward"] = load("lucid.compiler.compiled:compile")(self.forward, **options)

    # ---- printing ------------------------------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses; layers override it.

        >>> nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """The tree of modules, as PyTorch prints it, and a line for every buffer that `extra_repr` does not tell about:
        ``(running_mean): Buffer(shape=(3,), dtype=float32)``, with ``non-persistent`` where it is not saved.
        """
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        inside = self._buffer_lines() + [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not inside:
            return f"{self._get_name()}({lines[0]})"
        lines += inside
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"

    def _repr_html_(self) -> str:
        return str(load("lucid._notebook:module")(self))

    def _buffer_lines(self) -> list[str]:
        lines = []
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._described_buffers:
                shape = "uninitialized" if is_lazy(buffer) else f"shape={tuple(buffer.shape)}"
                device = "" if buffer.device == "cpu" else f", device='{buffer.device}'"
                saved = ", non-persistent" if name in self._non_persistent_buffers_set else ""
                options = buffer.options() if isinstance(buffer, Buffer) else ""
                lines.append(f"({name}): Buffer({shape}, dtype={buffer.dtype.name}{device}{saved}"
                             f"{options and ', ' + options})")
        return lines

    # ---- pickling ------------------------------------------------------------------------------------------------
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_is_full_backward_hook", None)
        for registry in _HOOK_REGISTRIES:  # a pickle of an older version may lack one
            self.__dict__.setdefault(registry, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        errors.modules[id(self)] = self


vars(_registry)["Module"] = Module  # for those who read its annotations


def indent(text: str, spaces: int = 2) -> str:
    """`text` with all lines but the first moved to the right."""
    return text.replace("\n", "\n" + " " * spaces)


def _addindent(s_: str, numSpaces: int) -> str:
    """`indent` by PyTorch's name, which libraries import."""
    return indent(s_, numSpaces)
