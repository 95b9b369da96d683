"""`Registry`, the part of Module that holds its state: parameters, buffers and submodules by name, and iterators over them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ....tensor import Tensor, array_behind
from ...parameter import Buffer, Parameter
from .global_hooks import buffer_registration_hooks, module_registration_hooks, parameter_registration_hooks, registered

if TYPE_CHECKING:
    from . import Module  # which puts itself here, so that the annotations can be read while the program runs


def typename(value: Any) -> str:
    """The qualified name of the class of `value`, for error messages."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


class Registry:
    """The part of Module that keeps parameters, buffers and submodules.

    They live in three dictionaries of the instance and are reached as attributes through `__getattr__`. A name is in at most
    one of the dictionaries or an ordinary attribute.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]
    _slot_options: Mapping[str, Mapping[str, Any]] = MappingProxyType({})  # of buffers set to None; replaced, never changed
    #: Whether a registered or assigned tensor stands in its slot as it is, with its graph, as in PyTorch: `lucid.torch` says so.
    _plain_buffers = False

    # ---- registration --------------------------------------------------------------------------------------------
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` state that moves with the module and, if `persistent`, is saved by `state_dict()`.

        The tensor itself becomes a `Buffer`: it stays the same object, and every alias of it moves with the module. A
        computed tensor is detached first. None reserves the name. Returns None.
        Raises KeyError for an empty or dotted name and one that is taken, TypeError for a name that is not a string and for
        something that is not a tensor, AttributeError before ``super().__init__()``.

        >>> model = nn.Module()
        >>> model.register_buffer("mean", lucid.zeros(2))
        >>> model.register_buffer("scratch", lucid.zeros(2), persistent=False)
        >>> list(model.state_dict())
        ['mean']
        """
        self._check_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (lucid Tensor or None required)")
        if buffer_registration_hooks:
            tensor = registered(buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor if tensor is None or self._plain_buffers else Buffer.adopt(tensor, persistent)
        self._keep_options(name, {})
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter; None reserves the name. Raises as `register_buffer` does, and ValueError for a computed
        tensor.

        >>> model = nn.Module()
        >>> model.register_parameter("scale", nn.Parameter(lucid.ones(1)))
        >>> model.register_parameter("bias", None)
        >>> list(model.state_dict())
        ['scale']
        """
        self._check_name("parameter", "_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (lucid.nn.Parameter or None "
                            "required)")
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                             f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                             "forward() method.")
        if param is not None and parameter_registration_hooks:
            param = registered(parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule; None reserves the name. Raises as `register_buffer` does.

        >>> model = nn.Module()
        >>> model.add_module("layer", nn.Linear(2, 3))
        >>> model.layer
        Linear(in_features=2, out_features=3, bias=True)
        """
        if module is not None and not isinstance(module, Registry):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", "_modules", name)
        self._set_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`.

        >>> model = nn.Module()
        >>> model.register_module("layer", nn.ReLU())
        >>> model.layer
        ReLU()
        """
        self.add_module(name, module)

    def _set_module(self, name: str, module: Any) -> None:
        if module_registration_hooks:
            module = registered(module_registration_hooks, self, name, module)
        self._modules[name] = module

    def _check_name(self, kind: str, registry: str, name: Any) -> None:
        entries = self.__dict__.get(registry)
        if entries is None:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "." (got {name!r})')
        if name not in entries and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # ---- attributes ----------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if "_modules" in state:  # else __init__ has not run
            if name in state["_parameters"]:
                return state["_parameters"][name]
            if name in state["_modules"]:
                return state["_modules"][name]
            if name in state["_buffers"]:
                return state["_buffers"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _tensors(self, *names: str) -> list[Any]:
        """The attributes with these names, parameters and buffers, in a quarter of the time: Python looks elsewhere first."""
        state = self.__dict__
        parameters, buffers = state["_parameters"], state["_buffers"]
        return [parameters[name] if name in parameters else buffers[name] if name in buffers else getattr(self, name)
                for name in names]

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute; parameters, buffers and modules are registered.

        A tensor assigned to the name of a buffer becomes the buffer's new content, without its graph: the buffer stays
        registered and stays the same object.
        """
        state = self.__dict__
        if isinstance(value, Parameter):
            self._release(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (lucid.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Registry):
            self._release(name, "_modules", "module")
            self._set_module(name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (lucid.nn.Module or None "
                                "expected)")
            self._set_module(name, None)
        elif name in state.get("_buffers", ()):
            self._assign_buffer(name, value)
        elif isinstance(value, Buffer) and value._declared:
            self.register_buffer(name, value, value.persistent)
        else:
            object.__setattr__(self, name, value)

    def _release(self, name: str, registry: str, kind: str) -> None:
        """Free `name` for an entry of `registry`: a parameter or module replaces whatever else had this name."""
        state = self.__dict__
        if registry not in state:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        state.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != registry:
                state[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name: str, value: Any) -> None:
        current = self._buffers[name]
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (lucid.nn.Buffer, lucid.Tensor or None "
                            "expected)")
        if self._plain_buffers:
            self._buffers[name] = registered(buffer_registration_hooks, self, name, value) if buffer_registration_hooks else value
            return
        if value is not current and isinstance(value, Buffer) and any(value is other for other in self._buffers.values()):
            # ``self.previous = self.state``: the buffers are equal now, but one later assignment must not change both.
            value = value if isinstance(current, Buffer) else value.detach()
        elif isinstance(value, Buffer) and value._declared and value is not current:
            self.register_buffer(name, value, value.persistent)
            return
        if value is None or not isinstance(current, Buffer):
            persistent = name not in self._non_persistent_buffers_set
            options = current.given_options() if isinstance(current, Buffer) else self._slot_options.get(name, {})
            self.register_buffer(name, None if value is None else Buffer.adopt(value, persistent, options), persistent)
            if value is None:
                self._keep_options(name, options)
        else:
            if buffer_registration_hooks:
                value = registered(buffer_registration_hooks, self, name, value)
            current.assign(value)

    def _keep_options(self, name: str, options: Mapping[str, Any]) -> None:
        """Remember `options` for the tensor that will fill the slot `name`, which is None."""
        if options or name in self._slot_options:
            others = {slot: kept for slot, kept in self._slot_options.items() if slot != name}
            self.__dict__["_slot_options"] = others | ({name: options} if options else {})

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent_buffers_set.discard(name)
                self._keep_options(name, {})
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(self.__class__), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted({name for name in names if not name[0].isdigit()})

    # ---- walks ---------------------------------------------------------------------------------------------------
    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Module]]:
        """Pairs (dotted name, module) of this module and everything below it; a shared module once.

        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU())).named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and everything below it; a shared module once.

        >>> [type(module).__name__ for module in nn.Sequential(nn.Linear(2, 3), nn.ReLU()).modules()]
        ['Sequential', 'Linear', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs (name, module) of the direct submodules; a shared one once.

        >>> [name for name, _ in nn.Sequential(nn.Linear(2, 3), nn.ReLU()).named_children()]
        ['0', '1']
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules; a shared one once.

        >>> [type(child).__name__ for child in nn.Sequential(nn.Linear(2, 3), nn.ReLU()).children()]
        ['Linear', 'ReLU']
        """
        for _, module in self.named_children():
            yield module

    def _named_members(self, get_members_fn: Callable[[Any], Any], prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Pairs (dotted name, member) of what `get_members_fn(module)` lists, over all modules; None members left out."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                         ) -> Iterator[tuple[str, Parameter]]:
        """Pairs (dotted name, parameter); a shared parameter once, unless `remove_duplicate=False`.

        >>> [(name, p.shape) for name, p in nn.Sequential(nn.Linear(2, 3)).named_parameters()]
        [('0.weight', lucid.Size([3, 2])), ('0.bias', lucid.Size([3]))]
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with `recurse`, of all below; a shared one once.

        >>> sum(p.numel() for p in nn.Linear(2, 3).parameters())
        9
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
                      ) -> Iterator[tuple[str, Tensor]]:
        """Pairs (dotted name, buffer); a shared buffer once, unless `remove_duplicate=False`.

        >>> [name for name, _ in nn.Sequential(nn.BatchNorm1d(3)).named_buffers()]
        ['0.running_mean', '0.running_var', '0.num_batches_tracked']
        """
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with `recurse`, of all below; a shared one once.

        >>> [buffer.shape for buffer in nn.BatchNorm1d(3).buffers()]
        [lucid.Size([3]), lucid.Size([3]), lucid.Size([])]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- look-up by dotted name ----------------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The submodule with the dotted name `target`; "" gives this one. Raises AttributeError if there is none.

        >>> nn.Sequential(nn.Sequential(nn.ReLU())).get_submodule("0.0")
        ReLU()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = self._find(module, name)
            if not isinstance(module, Registry):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at the dotted name `target`.

        With `strict` a submodule must be there already. Raises ValueError for an empty name or something that is not a
        module, AttributeError for a path that does not exist.

        >>> model = nn.Sequential(nn.Sequential(nn.ReLU()))
        >>> model.set_submodule("0.0", nn.GELU())
        >>> model[0][0]
        GELU(approximate='none')
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Registry):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(self._find(parent, name), Registry):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`. Raises AttributeError if there is none.

        >>> nn.Sequential(nn.Linear(2, 3)).get_parameter("0.weight").shape
        lucid.Size([3, 2])
        """
        path, _, name = target.rpartition(".")
        parameter = self._find(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name `target`. Raises AttributeError if there is none.

        >>> nn.Sequential(nn.BatchNorm1d(2)).get_buffer("0.running_mean")
        Tensor([0.0, 0.0], requires_grad=False)
        """
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer: Tensor = self._find(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    @staticmethod
    def _find(module: Any, name: str) -> Any:
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)

    def _state_name_of(self, tensor: Tensor) -> tuple[str, str] | None:
        """('parameter' or 'buffer', dotted name) if this module holds `tensor` or its memory: used in error messages."""
        if "_modules" not in self.__dict__:  # its __init__ has not run
            return None
        for kind, members in (("parameter", self.named_parameters()), ("buffer", self.named_buffers())):
            for name, member in members:
                if array_behind(member) is tensor._array:
                    return kind, name
        return None
