"""The text of the CUDA sources in this package. Imports no cupy: the simulator and the compile check use it too."""
from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Callable, Iterable

from lucid_kernels import formulas, special_tables
from lucid_kernels.cuda.runtime import formula

FOLDER = pathlib.Path(__file__).parents[1]
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)".*$')
_APART = re.compile(r"^// one module an instance( on a GPU)?$", re.MULTILINE)
_ALONE = re.compile(r"^// each operation is rounded alone$", re.MULTILINE)
_ARCHITECTURE = re.compile(r"^// on compute capability (\d+)\.(\d): (sm_\w+)$", re.MULTILINE)
_INSTANTIATE = re.compile(r"^//[ \t]*instantiate:[ \t]*(.+)$", re.MULTILINE)


@functools.cache
def path_of(file: str) -> pathlib.Path:
    """The path of the source `file`, in whichever folder it lies: no two have one name."""
    return next(FOLDER.rglob(file))


def read(name: str) -> str:
    """The text of one `.cu` or `.cuh` file; the headers `formulas.cuh` and `special_tables.cuh` are written here.

    A name without a suffix is a `.cu` file.
    """
    if name == "formulas.cuh":
        return formula.header((*formulas.ACTIVATIONS, *formulas.ARITHMETIC))
    if name == "special_tables.cuh":
        return _tables()
    return path_of(name if "." in name else name + ".cu").read_text(encoding="utf-8")


def _tables() -> str:
    """The header with the arrays of `special_tables`."""
    return "".join(f"__device__ const double {name}[] = {{{', '.join(map(repr, array.ravel().tolist()))}}};\n"
                   for name, array in vars(special_tables).items() if name.isupper())


def inline_includes(text: str, reader: Callable[[str], str] = read, name: str = "kernel.cu") -> str:
    """Replace every `#include "x.cuh"` by the text of x.cuh, once per file, with `#line` marks for messages.

    CuPy keys its cache of compiled kernels by the source string alone: a change in an included file would go unseen.
    """
    return "\n".join(_inlined(text, reader, name, {name})) + "\n"


def _inlined(text: str, reader: Callable[[str], str], name: str, seen: set[str]) -> list[str]:
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _INCLUDE.match(line):
            header = match[1]
            if header in seen:
                lines.append("")
            else:
                seen.add(header)
                lines += [f'#line 1 "{header}"', *_inlined(reader(header), reader, header, seen)]
                lines.append(f'#line {number + 1} "{name}"')
        else:
            lines.append("" if line.strip() == "#pragma once" else line)
    return lines


def load(name: str) -> str:
    """The text of a `.cu` file with our headers inlined: what is compiled."""
    file = name if "." in name else name + ".cu"
    return inline_includes(read(file), read, file)


def instantiations(text: str) -> tuple[str, ...]:
    """The template instantiations of a source: its line `// instantiate: softmax<float>, softmax<double>`.

    Several such lines add up. Commas inside `<...>` belong to the name.
    """
    names: list[str] = []
    for match in _INSTANTIATE.finditer(text):
        names += [part.strip() for part in re.split(r",(?![^<]*>)", match[1]) if part.strip()]
    return tuple(names)


def is_one_module_an_instance(text: str, all_wanted: bool = False) -> bool:
    """Whether each instance of a source is compiled alone, at its first use: all together would take seconds or minutes. Where
    `all_wanted`, as on the simulator and by the compile check, many small ones take less time together.
    """
    match = _APART.search(text)
    return match is not None and not (all_wanted and match[1])


def options(text: str) -> tuple[str, ...]:
    """The compiler's options for a source. The compiler joins products and sums, but where operations are to give the bits that
    they have in a kernel of several operations (`launch.generated`).
    """
    return ("--fmad=false",) if _ALONE.search(text) else ()


def architecture(text: str, capability: str) -> str | None:
    """What a source is compiled for on chips of a compute capability, such as "90", where that is not for all like them: a line
    `// on compute capability 9.0: sm_90a` gives it instructions that no later chip has.
    """
    return next((name for major, minor, name in _ARCHITECTURE.findall(text) if major + minor == capability), None)


def with_instantiations(text: str, names: Iterable[str]) -> str:
    """A source whose lines `// instantiate:` name those of its template instantiations alone that are in `names`."""
    wanted = set(names)
    lines = (", ".join(name for name in instantiations(match[0]) if name in wanted) for match in _INSTANTIATE.finditer(text))
    return _INSTANTIATE.sub(lambda match: f"// instantiate: {line}" if (line := next(lines)) else "//", text)


def names() -> tuple[str, ...]:
    """The families that have a `.cu` file, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.rglob("*.cu")))
