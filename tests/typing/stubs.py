"""Writes the stubs of what lucid has without a line that says so: ``python -m tests.typing.stubs``.

`NAMES` are modules that gather names from others, also some that are imported when they are first asked for: their stubs tell
where each stands, and how functions may be called, with `out`. `lucid/_tensor_methods.pyi` has the methods that `lucid.ops` gives to Tensor, with their docstrings, as a class that Tensor is
derived from where types are checked.
"""
from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_overloads

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels"), str(ROOT / "docs")]

from public_names import plain  # noqa: E402

import lucid  # noqa: E402
from lucid._namespace.lazy import LAZY  # noqa: E402

METHODS = ROOT / "lucid" / "_tensor_methods.pyi"
NAMES = {"lucid": "", "lucid.fft": "fft", "lucid.linalg": "linalg", "lucid.nn": "nn/", "lucid.nn.utils": "nn/utils/",
         "lucid.special": "special", "lucid.utils": "utils/"}
_LINE = 128
#: Names that methods have too, by which annotations inside of the class would be understood.
_BUILTINS = ("bool", "float", "int")
_KNOWN = {"Any", "Callable", "Sequence", "Iterable", "Literal", "Self", "np", "builtins"}
_OPERATORS = {name for name in vars(lucid.Tensor) if name.startswith("__") and name.endswith("__")}


@functools.cache
def _defined(module: str) -> set[str]:
    """The classes and aliases that a module defines, and does not only import."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)} | {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)} | {
        node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


class _Imports:
    """The names that annotations use, and the modules that they come from."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def annotation(self, annotation: Any, function: Any) -> str:
        """It as a stub may say it: `Any` for one of names that only type checking of its module has."""
        if annotation is inspect.Parameter.empty:
            return "Any"
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "Any")
        try:
            used = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
        except SyntaxError:
            return "Any"
        space = plain(inspect.unwrap(function)).__globals__
        for name in dict.fromkeys(used):
            if name in _KNOWN or name == "Tensor" or (name in _BUILTINS or hasattr(builtins, name)):
                continue
            value = space.get(name)
            module = value.__name__ if isinstance(value, types.ModuleType) else space["__name__"]
            if value is None or not module.startswith("lucid"):
                return "Any"
            if isinstance(value, types.ModuleType):
                if name == "builtins":
                    continue
                return "Any"
            if isinstance(value, type) and value.__module__.startswith("lucid"):
                module = value.__module__
            if name not in _defined(module):
                return "Any"
            self.found.setdefault(name, module)
        return re.sub(rf"(?<![\w.])({'|'.join(_BUILTINS)})(?!\w)", r"builtins.\1", text.replace("builtins.", ""))

    def lines(self) -> list[str]:
        """The lines that import them."""
        return [f"from {module} import {name}" for name, module in sorted(self.found.items(), key=lambda i: i[::-1])]


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and value == value) else "..."


def _takes_out(function: Any) -> bool:
    while function is not None:
        if hasattr(function, "without_out"):
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def _overloads(function: Any) -> Sequence[Callable[..., Any]]:
    return get_overloads(plain(inspect.unwrap(function)))


def _variants(function: Any) -> Iterator[inspect.Signature]:
    """The ways to call a function that its module has under `overload`, those that take `dim` also with NumPy's name of it."""
    for variant in map(inspect.signature, _overloads(function)):
        yield variant
        parameters = dict(variant.parameters)
        if "dim" in parameters and parameters["dim"].default is inspect.Parameter.empty and parameters["dim"].annotation == "int":
            parameters["axis"] = parameters.pop("dim").replace(name="axis")
            first = next(iter(parameters))
            yield variant.replace(parameters=[each if name == first else each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                                              for name, each in parameters.items()])


def _parameters(function: Any, signature: inspect.Signature, method: bool, imports: _Imports) -> list[str]:
    """What a function takes: also `out`, NumPy's names of its arguments, and what every function that makes a tensor takes."""
    parameters = list(signature.parameters.values())
    own = {parameter.name for parameter in parameters}
    other = {} if {"requires_grad", "device"} <= own else {
        name: meant for name, meant in (("axis", "dim"), ("keepdims", "keepdim"))
        if own & {"dim", "axis"} and meant in own and name not in own}
    if "axis" in other and _overloads(function) and signature.parameters["dim"].annotation in ("None", "int", "Tensor"):
        del other["axis"]  # another variant has it
    parts: list[str] = []
    rest: list[str] = []
    previous = None
    for number, parameter in enumerate(parameters):
        kind = parameter.kind
        if previous is parameter.POSITIONAL_ONLY and kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        if kind is parameter.KEYWORD_ONLY and previous not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            parts.append("*")
        stars = "*" if kind is parameter.VAR_POSITIONAL else "**" if kind is parameter.VAR_KEYWORD else ""
        annotation = imports.annotation(parameter.annotation, function)
        if number == 0 and method and not stars:
            parts.append("self")
        else:
            if number == 0 and annotation == "Tensor":
                annotation = "Any"  # also what is no tensor, of a class that says what functions do with it
            missing = parameter.default is parameter.empty and not stars and parameter.name not in other.values() and (
                kind is parameter.KEYWORD_ONLY or all("=" not in part for part in parts))
            (rest if stars == "**" else parts).append(f"{stars}{parameter.name}: {annotation}" + (
                "" if stars or missing else f" = {_default(parameter.default)}"))
        previous = previous if kind is parameter.VAR_KEYWORD else kind
    if previous is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    more = [f"{name}: Any = ..." for name in other]
    if "out" not in own and _takes_out(function):
        more.append("out: Any = None")
    if {"requires_grad", "device"} <= own and not method:
        more += [f"{name}: Any = ..." for name in ("layout", "pin_memory") if name not in own]
    if more and previous not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL):
        parts.append("*")
    return parts + more + rest


def _definition(name: str, function: Any, imports: _Imports, method: bool = True, body: str = " ...") -> str:
    """The lines that define it, in each of its variants, with `body` once."""
    heads = [_signature(name, function, signature, imports, method)
             for signature in list(_variants(function)) or [inspect.signature(function)]]
    if len(heads) == 1:
        return heads[0] + body
    return "\n".join(f"@overload\n{head}{' ...' if number else body}" for number, head in enumerate(heads))


def _signature(name: str, function: Any, signature: inspect.Signature, imports: _Imports, method: bool) -> str:
    """The lines that define it in one of its variants, without a body."""
    parts = _parameters(function, signature, method, imports)
    head = f"def {name}("
    tail = f") -> {imports.annotation(signature.return_annotation, function)}:"
    lines = [head]
    for number, part in enumerate(parts, 1):
        text = part + (tail if number == len(parts) else ", ")
        if len(lines[-1] + text) > _LINE - 4:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(head))
        lines[-1] += text
    return "\n".join(lines) if parts else head + tail


def _body(documentation: str | None) -> str:
    if not documentation:
        return "\n    ..."
    quoted = inspect.cleandoc(documentation).replace("\\", "\\\\").replace('"""', "'''")
    return "\n" + textwrap.indent(f'"""{quoted}"""' if "\n" not in quoted else f'"""{quoted}\n"""', "    ")


def methods() -> str:
    """The text of the stub of Tensor's methods."""
    written = {name for base in lucid.Tensor.__mro__[1:-1] for name in vars(base)}
    tree = ast.parse((ROOT / "lucid" / "tensor" / "__init__.py").read_text(encoding="utf-8"))
    (own,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    written |= {node.name for node in own.body if isinstance(node, ast.FunctionDef)}
    imports, parts = _Imports(), []
    for name, value in sorted(vars(lucid.Tensor).items()):
        special = name.startswith("__")
        if name in written or (special and (name not in _OPERATORS or not callable(value))) or (name.startswith("_") and not special):
            continue
        if isinstance(value, property):
            head = f"@property\ndef {name}(self) -> {imports.annotation(value.fget.__annotations__.get('return', Any), value.fget)}:"
            text = head + _body(value.__doc__)
        elif isinstance(value, bool):
            parts.append(f"{name}: builtins.bool")
            continue
        elif callable(value) and not isinstance(value, type):
            text = _definition(name, value, imports, body=" ..." if special else _body(value.__doc__))
            if special and name not in ("__setitem__", "__array_namespace__"):  # comparisons may also give NotImplemented
                text = f"{text.rpartition(' -> ')[0]} -> Tensor: ..."
            if (f"__{name[3:]}" in _OPERATORS and name.startswith("__i")) or (name.endswith("_") and not special):  # in place
                text = text.replace(") -> Tensor:", ") -> Self:", 1)
        else:
            continue
        if name in ("__eq__", "__ne__"):
            text += "  # type: ignore[override]"
        parts.append(text)
    head = ['"""The methods that `lucid.ops` gives to Tensor. Written by `python -m tests.typing.stubs`: do not edit."""', "import builtins",
            "from collections.abc import Callable, Iterable, Sequence", "from typing import Any, Literal, Self, overload", "", "import numpy as np", "",
            *imports.lines(), "from lucid.tensor import Tensor", "", "class TensorMethods:", ""]
    return "\n".join(head) + textwrap.indent("\n".join(parts), "    ") + "\n"


def stub(module: str) -> pathlib.Path:
    """The path of the stub of one of `NAMES`."""
    place = NAMES[module]
    return ROOT / "lucid" / (f"{place}.pyi" if place and not place.endswith("/") else f"{place}__init__.pyi")


def _sources(module: str) -> dict[str, str]:
    """The imports of a module, without the name that each gives: name -> import."""
    path = stub(module).with_suffix(".py")
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            above = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level])
            for alias in node.names:
                found[alias.asname or alias.name] = f"from {above}{'.' if node.module else ''}{node.module or ''} import {alias.name}"
    return found


def names(module: str) -> str:
    """The text of the stub of a module's public names: functions as they may be called, all else as it is imported."""
    space, lazy, sources = importlib.import_module(module), LAZY.get(module, {}), _sources(module)
    imports = _Imports()
    lines, rest = [], []
    public = sorted({*space.__all__, *(name for name in lazy if not name.startswith("_"))})
    for name in public:
        value = getattr(space, name)
        function, found = plain(value), lazy.get(name, "")
        own = getattr(function, "asks_for", function)  # behind the frame that asks classes
        as_written = value is function and not hasattr(own, "__wrapped__") and (name in sources or found)
        if inspect.isfunction(function) and not as_written:
            rest.append(_definition(name, function, imports, False))
        elif name in sources:
            lines.append(f"{sources[name]} as {name}")
        elif isinstance(value, types.ModuleType):
            package, _, inside = (found or value.__name__).rpartition(".")
            lines.append(f"from {package} import {inside} as {name}")
        elif found or (isinstance(value, type) and value.__module__.startswith("lucid")):
            inside, _, inner = found.partition(":") if found else (value.__module__, "", value.__qualname__)
            lines.append(f"from {inside} import {inner} as {name}")
        else:
            same = next((other for other in public if other in sources and getattr(space, other) is value), None)
            rest.append(f"{name} = {same}" if same and value is not None else f"{name}: {_type(value)}")
    rest += [f"{name}: Any" for name in sorted(lazy) if name.startswith("_") and not name.startswith("__")]
    if module == "lucid":
        rest += ["", "__version__: builtins.str"]
    elif "Tensor" not in public:
        lines.append("from lucid.tensor import Tensor")
    head = [f'"""The names of {module}, for checkers of types. Written by `python -m tests.typing.stubs`: do not edit."""',
            "import builtins", "from collections.abc import Callable, Iterable, Sequence", "from typing import Any, Literal, overload", "",
            "import numpy as np", ""]
    own = [line for line in imports.lines() if not any(line.rpartition(" ")[2] == name for name in public)]
    listed = textwrap.wrap(", ".join(f'"{name}"' for name in public), _LINE - 4)
    return "\n".join([*head, *own, *sorted(lines), "", *rest, "", "__all__ = ["]) + "\n" + textwrap.indent(
        "\n".join(listed), "    ") + "\n]\n"


def _type(value: Any) -> str:
    return "None" if value is None else f"builtins.{type(value).__name__}" if type(value).__module__ == "builtins" else "Any"


if __name__ == "__main__":
    METHODS.write_text(methods(), encoding="utf-8")
    for module in NAMES:
        stub(module).write_text(names(module), encoding="utf-8")
