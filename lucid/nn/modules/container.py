"""Containers: `Sequential`, and lists and dictionaries of modules and of parameters."""
from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Self

from ...tensor import Tensor
from ..parameter import Parameter
from ._fusion import steps
from .module import Module, indent


def place_in(entries: Sized, index: Any) -> int:
    """`index`, which may be negative, counted from the start. Raises IndexError for one outside of `entries`."""
    index = operator.index(index)
    if not -len(entries) <= index < len(entries):
        raise IndexError(f"index {index} is out of range")
    return int(index % len(entries))


class _Numbered(Module):
    """Submodules named "0", "1", …: what Sequential and ModuleList share."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def _key(self, index: int) -> str:
        """The name of the module at `index`."""
        return list(self._modules)[place_in(self, index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        for name in list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Module]) -> None:
        # The dictionary stays the same object, refilled.
        self._modules.clear()
        self._modules.update((str(number), module) for number, module in enumerate(modules))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end.

        >>> nn.Sequential(nn.ReLU()).append(nn.GELU())
        Sequential(
          (0): ReLU()
          (1): GELU(approximate='none')
        )
        """
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end. Raises TypeError for something that is not iterable.

        >>> len(nn.Sequential(nn.ReLU()).extend([nn.GELU(), nn.Tanh()]))
        3
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got "
                            f"{type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove and return the module at `key`.

        >>> model = nn.Sequential(nn.ReLU(), nn.GELU())
        >>> model.pop(0), len(model)
        (ReLU(), 1)
        """
        removed = self[key]  # type: ignore[index]
        del self[key]
        return removed


class Sequential(_Numbered):
    """Modules called one after the other: ``Sequential(a, b)`` or ``Sequential(OrderedDict(first=a, second=b))``.

    Batch normalisation or a convolution with the ReLU and the max pooling after it, and two of these neighbours, are computed
    together, with the same result in less time, unless a hook on one of them (or on all modules) can see a tensor between them.

    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> model(lucid.randn(3, 4)).shape
    lucid.Size([3, 2])
    >>> model[1]
    ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Any:
        """What the last module returns for what the one before it returns, and so on."""
        for step in steps(self._modules.values()):
            input = step(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`. Raises IndexError outside the list, AssertionError for other objects.

        >>> nn.Sequential(nn.ReLU()).insert(0, nn.GELU())[0]
        GELU(approximate='none')
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def __add__(self, other: Any) -> Sequential:
        _require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        _require_sequential(other)
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        _require_positive(self, times)
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        _require_positive(self, times)
        return self.extend(list(self) * (times - 1))


def _require_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


def _require_positive(owner: Sequential, times: Any) -> None:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(owner)} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {type(owner)}")


class ModuleList(_Numbered):
    """A list of modules, which is not called itself.

    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> x = lucid.ones(1, 2)
    >>> for layer in layers:
    ...     x = layer(x)
    >>> x.shape, len(list(layers.parameters()))
    (lucid.Size([1, 2]), 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.__class__(list(self)[index])
        return self._modules[self._key(index)]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`.

        >>> layers = nn.ModuleList([nn.ReLU()])
        >>> layers.insert(0, nn.GELU())
        >>> layers[0]
        GELU(approximate='none')
        """
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """One line for each run of modules that print alike: ``(0-2): 3 x ReLU()``."""
        runs: list[tuple[int, int, str]] = []  # first number, count, text
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1, text)
            else:
                runs.append((number, 1, text))
        lines = [f"({first}-{first + count - 1}): {count} x {text}" if count > 1 else f"({first}): {text}"
                 for first, count, text in runs]
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(map(indent, lines)) + "\n" if lines else "") + ")"


class ModuleDict(Module):
    """A dictionary of modules, which is not called itself.

    >>> layers = nn.ModuleDict({"small": nn.Linear(2, 3), "large": nn.Linear(2, 300)})
    >>> layers["small"](lucid.ones(1, 2)).shape, len(list(layers.parameters()))
    (lucid.Size([1, 3]), 4)
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules.

        >>> layers = nn.ModuleDict({"a": nn.ReLU()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module called `key`.

        >>> layers = nn.ModuleDict({"a": nn.ReLU()})
        >>> layers.pop("a"), len(layers)
        (ReLU(), 0)
        """
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names.

        >>> list(nn.ModuleDict({"a": nn.ReLU(), "b": nn.GELU()}).keys())
        ['a', 'b']
        """
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs (name, module).

        >>> list(nn.ModuleDict({"a": nn.ReLU()}).items())
        [('a', ReLU())]
        """
        return self._modules.items()

    def values(self) -> Any:
        """The modules.

        >>> list(nn.ModuleDict({"a": nn.ReLU()}).values())
        [ReLU()]
        """
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs (name, module).

        >>> layers = nn.ModuleDict({"a": nn.ReLU()})
        >>> layers.update({"b": nn.GELU()})
        >>> list(layers)
        ['a', 'b']
        """
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(owner: str, entries: Any, ordered: bool = True) -> list[tuple[str, Any]]:
    """The pairs (key, value) of a mapping, sorted by key unless `ordered`, or of an iterable of pairs."""
    if not isinstance(entries, Iterable):
        raise TypeError(f"{owner}.update should be called with an iterable of key/value pairs, but got "
                        f"{type(entries).__name__}")
    if isinstance(entries, (Mapping, ModuleDict, ParameterDict)):
        pairs = list(entries.items())
        return pairs if ordered or isinstance(entries, (OrderedDict, ParameterDict)) else sorted(pairs)
    pairs = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, Iterable):
            raise TypeError(f"{owner} update sequence element #{number} should be Iterable; is {type(entry).__name__}")
        entry = tuple(entry)
        if len(entry) != 2:
            raise ValueError(f"{owner} update sequence element #{number} has length {len(entry)}; 2 is required")
        pairs.append(entry)
    return pairs


def _as_parameter(value: Any) -> Any:
    """A tensor as a parameter; everything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _entry_text(key: Any, value: Any) -> str:
    """The line of `repr` for an entry of a ParameterList or ParameterDict."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    device = f" ({value.device})" if value.is_gpu else ""
    return f"  ({key}): {kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}{device}]"


class ParameterList(Module):
    """A list of parameters. Tensors become parameters; other objects are kept as they are.

    >>> module = nn.Module()
    >>> module.weights = nn.ParameterList([lucid.ones(2), lucid.zeros(3)])
    >>> list(module.state_dict())
    ['weights.0', 'weights.1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self.__class__([self[number] for number in range(len(self))[index]])
        return getattr(self, str(place_in(self, index)))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(place_in(self, index)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[number] for number in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add an entry at the end.

        >>> len(nn.ParameterList([lucid.ones(1)]).append(lucid.ones(2)))
        2
        """
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add entries at the end. Raises TypeError for something that is not iterable, and for a single tensor.

        >>> len(nn.ParameterList([lucid.ones(1)]).extend([lucid.ones(2), lucid.ones(3)]))
        3
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(_entry_text(number, value) for number, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters. Tensors become parameters; other objects are kept as they are.

    >>> module = nn.Module()
    >>> module.weights = nn.ParameterDict({"a": lucid.ones(2), "b": lucid.zeros(3)})
    >>> list(module.state_dict())
    ['weights.a', 'weights.b']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _string(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, _string(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dictionary with the same parameters.

        >>> list(nn.ParameterDict({"a": lucid.ones(1)}).copy())
        ['a']
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The entry `key`, set to `default` if it is not there.

        >>> weights = nn.ParameterDict()
        >>> weights.setdefault("a", lucid.ones(2)).shape, list(weights)
        (lucid.Size([2]), ['a'])
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries.

        >>> weights = nn.ParameterDict({"a": lucid.ones(1)})
        >>> weights.clear()
        >>> len(weights)
        0
        """
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the entry `key`.

        >>> weights = nn.ParameterDict({"a": lucid.ones(1)})
        >>> weights.pop("a").shape, len(weights)
        (lucid.Size([1]), 0)
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last pair (key, value). Raises KeyError if there is none.

        >>> weights = nn.ParameterDict({"a": lucid.ones(1), "b": lucid.ones(2)})
        >>> weights.popitem()[0], len(weights)
        ('b', 1)
        """
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry `key`, or `default`.

        >>> nn.ParameterDict({"a": lucid.ones(1)}).get("b", "none")
        'none'
        """
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with `default` for each of `keys`.

        >>> list(nn.ParameterDict().fromkeys(["a", "b"], lucid.ones(1)))
        ['a', 'b']
        """
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Any:
        """The keys.

        >>> list(nn.ParameterDict({"a": lucid.ones(1), "b": lucid.ones(1)}).keys())
        ['a', 'b']
        """
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs (key, value).

        >>> [(key, value.shape) for key, value in nn.ParameterDict({"a": lucid.ones(2)}).items()]
        [('a', lucid.Size([2]))]
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values.

        >>> [value.shape for value in nn.ParameterDict({"a": lucid.ones(2)}).values()]
        [lucid.Size([2])]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add entries from a mapping (a plain one in sorted order, as in PyTorch) or from pairs (key, value).

        >>> weights = nn.ParameterDict({"a": lucid.ones(1)})
        >>> weights.update({"b": lucid.ones(2)})
        >>> list(weights)
        ['a', 'b']
        """
        for key, value in _pairs("ParameterDict", parameters, ordered=False):
            self[key] = value

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(_entry_text(key, value) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self


def _string(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                        f"'{type(key).__name__}').")
    return key


class Container(Module):
    """Submodules by keywords: a Module, with a FutureWarning.

    >>> model = nn.Container(first=nn.Linear(2, 3), second=nn.ReLU())
    >>> [name for name, _ in model.named_children()]
    ['first', 'second']
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
                      "instead.", FutureWarning, stacklevel=2)
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)
