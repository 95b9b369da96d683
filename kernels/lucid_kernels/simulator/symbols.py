"""The static shared variables of a built library, read from its symbol table."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import struct

import numpy as np

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_SYMBOL_TABLE = 2  # SHT_SYMTAB


@dataclasses.dataclass(frozen=True)
class Variable:
    """offset: from the start of the library. function: the mangled function that it stands in, or ''."""

    name: str
    function: str
    offset: int
    nbytes: int


def _split(mangled: str) -> tuple[str, str]:
    """The function of a static variable, and the variable: `_ZZ6kernelPfE4tile` are `_ZZ6kernelPfE` and `tile`."""
    for digits in re.finditer(r"\d+", mangled):
        for start in range(digits.start(), digits.end()):  # "Lb14tile": the length is 4
            end = digits.end() + int(mangled[start : digits.end()])
            if mangled[start] != "0" and re.fullmatch(r"(_\d+|_E\d*_)?", mangled[end:]) and end <= len(mangled):
                return (mangled[:start] if mangled.startswith("_ZZ") else ""), mangled[digits.end() : end]
    return "", mangled


def variables(library: pathlib.Path, begin: int, end: int) -> list[Variable]:
    """The variables between two offsets of an ELF file of 64 bits, in order."""
    data = library.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * i) for i in range(count)]
    symbols = next((section for section in sections if section[1] == _SYMBOL_TABLE), None)
    if symbols is None:
        return []
    offset, nbytes, strings = symbols[4], symbols[5], sections[symbols[6]][4]
    found = np.frombuffer(data, _SYMBOL, nbytes // _SYMBOL.itemsize, offset)
    found = found[(found["value"] >= begin) & (found["value"] < end) & (found["size"] > 0)]
    result = []
    for symbol in np.sort(found, order="value"):
        start = strings + int(symbol["name"])
        function, name = _split(data[start : data.index(b"\0", start)].decode())
        result.append(Variable(name, function, int(symbol["value"]), int(symbol["size"])))
    return result
