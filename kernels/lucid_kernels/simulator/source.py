"""From CUDA source text to one C++ translation unit."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Sequence

from .errors import CompileError

#: Headers of CUDA whose contents the shim provides, or includes itself.
_PROVIDED_HEADERS = {
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_pipeline.h",
    "cuda_runtime.h",
    "device_launch_parameters.h",
    "math_constants.h",
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"].*$', re.M)
_COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
_DYNAMIC_SHARED_MEMORY = re.compile(
    r"extern\s+__shared__\s+"
    r"(?:(?:__align__|alignas)\s*\(\s*\d+\s*\)\s*)?"
    r"(?P<type>[\w:<>, ]+?)\s*(?P<name>\w+)\s*\[\s*\]\s*;"
)
_EXTERN_C_KERNEL = re.compile(
    r'extern\s+"C"\s+(?:__global__\s+void|void\s+__global__)\s*'
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\("
)


def amalgamate(code: str, include_dirs: Iterable[str | pathlib.Path] = (), filename: str = "kernel.cu") -> str:
    """Replace every ``#include "x.cuh"`` by the text of x.cuh, found in `include_dirs`, once per file.

    `#line` marks keep the file names and line numbers of messages right. Raises CompileError for a missing file.
    """
    folders = [pathlib.Path(folder) for folder in include_dirs]
    return "\n".join(_inlined(code, folders, filename, set())) + "\n"


def _inlined(code: str, folders: Sequence[pathlib.Path], filename: str, seen: set[pathlib.Path]) -> list[str]:
    lines = []
    for number, line in enumerate(code.splitlines(), 1):
        include = _INCLUDE.match(line)
        if include is None or include[1] == "<":
            lines.append("" if line.strip() == "#pragma once" else line)
            continue
        header = next((folder / include[2] for folder in folders if (folder / include[2]).exists()), None)
        if header is None:
            searched = ", ".join(map(str, folders)) or "no folders"
            raise CompileError(f"{filename}:{number}: include {include[2]!r} not found (searched {searched})")
        if header in seen:
            lines.append("")
            continue
        seen.add(header)
        lines.append(f'#line 1 "{header.name}"')
        lines += _inlined(header.read_text(encoding="utf-8"), folders, header.name, seen)
        lines.append(f'#line {number + 1} "{filename}"')
    return lines


def extern_c_kernels(code: str) -> list[str]:
    """The names of the `extern "C" __global__` functions of a source, in order."""
    return _EXTERN_C_KERNEL.findall(_COMMENT.sub("", code))


def parameter_names(code: str, kernel: str) -> list[str]:
    """The names of the parameters of a kernel, an instance of a template included; [] where they cannot be told."""
    code = _COMMENT.sub("", code)
    start = re.search(rf"__global__[^;{{}}]*?\b{re.escape(kernel.split('<')[0].strip())}\s*\(", code)
    if start is None:
        return []
    names, depth, begin = [], 1, start.end()
    for place in range(start.end(), len(code)):
        depth += (code[place] in "(<[{") - (code[place] in ")>]}")
        if depth == 0 or (depth == 1 and code[place] == ","):
            words = re.findall(r"\w+", code[begin:place].split("=")[0].split("[")[0])
            names += words[-1:]
            begin = place + 1
        if depth == 0:
            break
    return names


def line_of_shared(code: str, name: str, filename: str) -> str:
    """Where the shared variable `name` is declared: 'kernel.cu:12', or the file alone."""
    declaration = re.search(rf"__shared__[^;]*\b{re.escape(name)}\b", code)
    if declaration is None:
        return filename
    number = 0
    for line in code[: declaration.start() + 1].splitlines():
        mark = re.match(r'#line (\d+) "([^"]+)"', line)
        number, filename = (int(mark[1]) - 1, mark[2]) if mark else (number + 1, filename)
    return f"{filename}:{number}"


def to_cpp(code: str, names: Sequence[str], filename: str = "kernel.cu") -> str:
    """A CUDA source without ``#include "..."`` as C++ that exports the kernels `names` (template instances included).

    The code stands in an anonymous namespace, so that two modules in one process never share a symbol. Includes of
    standard headers move in front of it; those of CUDA's own headers go away, cuda_on_cpu.h stands for them.
    """
    standard_includes = []

    def take_include(match: re.Match[str]) -> str:
        if match[1] == "<" and match[2] not in _PROVIDED_HEADERS:
            standard_includes.append(match[0])
        return ""

    code = _INCLUDE.sub(take_include, code)
    code = _DYNAMIC_SHARED_MEMORY.sub(r"LUCID_DYNAMIC_SHARED_MEMORY(\g<type>, \g<name>);", code)
    exports = [f"LUCID_EXPORT_KERNEL({index}, {name})" for index, name in enumerate(names)]
    parts = [
        '#include "cuda_on_cpu.h"',
        *standard_includes,
        "namespace {",
        f'#line 1 "{filename}"',
        code,
        "}",
        "LUCID_EXPORT_LIBRARY",
        *exports,
    ]
    return "\n".join(parts) + "\n"
