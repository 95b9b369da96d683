"""The parameters of ElementwiseKernel and ReductionKernel: their declarations, their types and how a kernel gets them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .array import check_dtype, ndarray

#: What the text of such a kernel begins with.
HEADERS = '#include "float16.cuh"\n#include "complex.cuh"\n#include "carray.cuh"\n'
C_TYPES = {
    "float64": "double",
    "float32": "float",
    "float16": "float16",
    "bfloat16": "__nv_bfloat16",
    "complex128": "complex<double>",
    "complex64": "complex<float>",
    "int64": "long long",
    "int32": "int",
    "int16": "short",
    "int8": "signed char",
    "uint64": "unsigned long long",
    "uint32": "unsigned int",
    "uint16": "unsigned short",
    "uint8": "unsigned char",
    "bool": "bool",
}
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*")
_SCALARS = (int, float, bool, complex, np.generic)


def check_name(name: str) -> None:
    """Raises ValueError for what cannot be the name of a function."""
    if not _NAME.fullmatch(name):
        raise ValueError(f'Invalid kernel name: "{name}"')


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter: of one dtype, or with a letter in the place of its type."""

    name: str
    letter: str | None
    dtype: np.dtype | None
    raw: bool
    is_input: bool

    @property
    def c_type(self) -> str:
        """Its type in the body of the kernel."""
        if self.letter is not None:
            return self.letter
        assert self.dtype is not None
        return C_TYPES[self.dtype.name]


def parse(declarations: str, is_input: bool) -> tuple[Parameter, ...]:
    """The parameters of ``'T x, raw float32 y'``. Raises Exception as CuPy does, TypeError for an unknown type."""
    return tuple(_parse(text, is_input) for text in declarations.strip().split(",") if declarations.strip())


def _parse(text: str, is_input: bool) -> Parameter:
    words = text.split()
    if len(words) < 2:
        raise Exception(f"Syntax error: {text}")  # CuPy raises this class
    *keywords, kind, name = words
    for keyword in keywords:
        if keyword != "raw":
            raise Exception(f'Unknown keyword "{keyword}"')  # CuPy raises this class
    dtype = None if len(kind) == 1 else check_dtype(_dtype_named(kind))
    return Parameter(name, kind if dtype is None else None, dtype, "raw" in keywords, is_input)


def _dtype_named(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def checked(arguments: Iterable[Any]) -> list[Any]:
    """The arguments of a call, if they are device arrays and scalars. Raises TypeError."""
    result = list(arguments)
    for value in result:
        if not isinstance(value, (ndarray, *_SCALARS)):
            raise TypeError(f"Unsupported type {type(value)}")
    return result


def broadcast(parameters: Sequence[Parameter], arguments: Sequence[Any], sized: bool) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of the loop, and the arguments with the arrays that are not raw broadcast to it. Raises ValueError.

    sized: whether the caller gives the size of the loop.
    """
    looped = [
        isinstance(value, ndarray) and not parameter.raw
        for parameter, value in zip(parameters, arguments, strict=False)
    ]
    if sized and any(looped):
        raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
    if not sized and not any(looped):
        raise ValueError("Loop size is undecided.")
    if sized:
        return (), list(arguments)
    shape = np.broadcast_shapes(*(value.shape for value, loop in zip(arguments, looped, strict=True) if loop))
    return shape, [
        ndarray._view(np.broadcast_to(value._array, shape), value) if loop else value
        for value, loop in zip(arguments, looped, strict=True)
    ]


def decide_types(
    inputs: Sequence[Parameter], outputs: Sequence[Parameter], in_args: Sequence[Any], out_args: Sequence[Any]
) -> dict[str, np.dtype]:
    """The dtype of every letter: of the outputs where those are given, else of the inputs. Raises TypeError."""
    letters: dict[str, np.dtype] = {}
    for parameter, value in [*zip(outputs, out_args, strict=False), *zip(inputs, in_args, strict=True)]:
        if not isinstance(value, ndarray):
            continue
        if parameter.dtype is not None:
            if value.dtype != parameter.dtype:
                raise TypeError(f"Type is mismatched. {parameter.name} {value.dtype} {parameter.dtype}")
        elif letters.setdefault(parameter.letter or "", value.dtype) != value.dtype:
            known = letters[parameter.letter or ""]
            raise TypeError(f"Type is mismatched. {parameter.name} {value.dtype} {known} {parameter.letter}")
    for parameter in (*inputs, *outputs):
        if parameter.dtype is None and parameter.letter not in letters:
            raise TypeError(f"no argument decides the type {parameter.letter} of {parameter.name}: pass it as an array")
    return letters


def dtype_of(parameter: Parameter, letters: Mapping[str, np.dtype]) -> np.dtype:
    """The dtype of a parameter in one call."""
    return parameter.dtype if parameter.dtype is not None else letters[parameter.letter or ""]


def out_arrays(
    outputs: Sequence[Parameter], given: Sequence[Any], letters: Mapping[str, np.dtype], shape: tuple[int, ...], sized: bool
) -> list[ndarray]:
    """The output arrays: those that are given, or new ones. Raises ValueError, TypeError."""
    if not given:
        if not sized and any(parameter.raw for parameter in outputs):
            raise ValueError("Output array size is Undecided")
        return [ndarray(shape, dtype_of(parameter, letters)) for parameter in outputs]
    for parameter, array in zip(outputs, given, strict=True):
        if not isinstance(array, ndarray):
            raise TypeError("Output arguments type must be cupy.ndarray")
        if not parameter.raw and array.shape != shape:
            raise ValueError("Out shape is mismatched")
    return list(given)


@dataclasses.dataclass
class Arguments:
    """The arguments of one launch, and the text that declares and unpacks them.

    Arrays are passed as pointers, which the simulator checks; their shapes and strides in one struct behind them.
    """

    letters: Mapping[str, np.dtype]
    values: list[Any] = dataclasses.field(default_factory=list)
    declarations: list[str] = dataclasses.field(default_factory=list)
    unpacking: list[str] = dataclasses.field(default_factory=list)
    layout: list[int] = dataclasses.field(default_factory=list)

    def add(self, parameter: Parameter, value: Any) -> None:
        """Add an array or a number."""
        dtype = dtype_of(parameter, self.letters)
        if not isinstance(value, ndarray):
            self.declarations.append(f"const {C_TYPES[dtype.name]} {parameter.name}")
            number = np.asarray(value).astype(dtype)
            self.values.append(number if dtype.name in ("float16", "complex64", "complex128") else number[()])
            return
        const, kind, name = "const " if parameter.is_input else "", C_TYPES[dtype.name], parameter.name
        variable = name if parameter.raw else f"_raw_{name}"
        self.declarations.append(f"{const}{kind}* _data_{name}")
        self.unpacking.append(
            f"{const}CArray<{kind}, {value.ndim}> {variable}(({kind}*)_data_{name}, _layout.at + {len(self.layout)});"
        )
        self.values.append(value)
        self.layout += [*value.shape, *value.strides]

    def add_indexer(self, name: str, shape: Sequence[int]) -> None:
        """Add a CIndexer over `shape`."""
        self.unpacking.append(f"CIndexer<{len(shape)}> {name}(_layout.at + {len(self.layout)});")
        self.layout += shape

    def finish(self) -> tuple[str, str, str, list[Any]]:
        """The text in front of the kernel, its parameters, the text at its start, and the values."""
        size = max(1, len(self.layout))
        typedefs = [f"typedef {C_TYPES[dtype.name]} {letter};" for letter, dtype in sorted(self.letters.items())]
        preamble = "\n".join([*typedefs, f"struct _Layout {{ ptrdiff_t at[{size}]; }};", ""])
        layout = np.array(self.layout or [0], np.int64)
        declarations = ", ".join([*self.declarations, "const _Layout _layout"])
        return preamble, declarations, "\n".join(self.unpacking), [*self.values, layout]


def reference(parameter: Parameter, indexer: str) -> str:
    """The line that names an element of an array that is not raw."""
    const = "const " if parameter.is_input else ""
    return f"{const}{parameter.c_type} &{parameter.name} = _raw_{parameter.name}[{indexer}.get()];"
