"""Building kernels with g++: where the compiler and the CUDA headers are, and a cache of what has been built.

Environment: CXX (the compiler, default g++), CUDA_PATH (a CUDA toolkit, when the header packages are not installed),
LUCID_SIMULATOR_CACHE (folder of the built libraries, and of the shim precompiled, 50 MB; see `cache.py`),
LUCID_SIMULATOR_DEBUG=0 (no line numbers, no checks of indices and shifts by the compiler).
"""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence

from lucid_kernels import extras

from . import cache
from .errors import CompileError
from .scheduling import INSTRUMENTED

FOLDER = pathlib.Path(__file__).resolve().parent
SHIM = "cuda_on_cpu.h"
RUNTIME = "runtime.cpp"
#: Checks of indices and shifts by the compiler, and debug information to name the line of a fault.
DEBUG = os.environ.get("LUCID_SIMULATOR_DEBUG", "1") != "0"
_REQUIRED_HEADERS = ("cuda_fp16.h", "nv/target", "crt/host_defines.h")
_DEBUG_FLAGS = (
    "-gdwarf-4",  # addr2line of binutils 2.40 takes the wrong file out of version 5
    "-g1",
    "-fsanitize=bounds,shift,integer-divide-by-zero,vla-bound",
    "-fsanitize-undefined-trap-on-error",  # a failed check is a SIGILL, which the launch reports
)
# A call in front of each access to memory, of functions that the runtime has; the sanitizer's own library is not used.
_INSTRUMENTATION_FLAGS = (
    "-fsanitize=thread",
    "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0",
)
#: Bytes between two static shared variables.
_GAP = 256
#: The alignment that `__shared__` gives, by which they are known in assembly: g++ forgets the section of static variables
#: in templates. None of its own alignments is as large.
_SHARED_ALIGNMENT = 128
_COMMON = re.compile(r"\t\.local\t(\S+)\n\t\.comm\t\1,(\d+),(\d+)\n")
_SHARED_SECTION = re.compile(r"\.section\s+lucid_shared\b.*?(?=\n\s*\.(?:section|text|data|bss)\b|\Z)", re.S)


def compiler() -> str | None:
    """The path of the C++ compiler, or None."""
    return shutil.which(os.environ.get("CXX", "g++"))


@functools.cache
def cuda_include_dirs() -> tuple[pathlib.Path, ...]:
    """The folders with CUDA's headers: of the PyPI packages, else of CuPy (CCCL only), else of a CUDA toolkit.

    Raises CompileError when a header is missing.
    """
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    candidates = sorted(packages.glob("nvidia/cu*/include"), reverse=True)
    candidates += packages.glob("nvidia/cu*/include/cccl")
    candidates += packages.glob("cupy/_core/include/cupy/_cccl/libcudacxx")
    for toolkit in (os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if toolkit:
            candidates += [pathlib.Path(toolkit) / "include", pathlib.Path(toolkit) / "include" / "cccl"]
    folders: dict[pathlib.Path, None] = {}  # an ordered set
    for header in _REQUIRED_HEADERS:
        folder = next((folder for folder in candidates if (folder / header).exists()), None)
        if folder is None:
            install = extras.command("simulator")
            raise CompileError(f"the CUDA header {header} was not found: {install}, or set CUDA_PATH to a toolkit")
        folders[folder] = None
    return tuple(folders)


def available() -> bool:
    """Whether kernels can be built here: a C++ compiler and the CUDA headers are there."""
    if compiler() is None:
        return False
    try:
        cuda_include_dirs()
    except CompileError:
        return False
    return True


@functools.cache
def _shim_text() -> str:
    """The shim and the runtime: a change in one of their files makes every built library stale."""
    files = sorted([*FOLDER.glob("*.h"), FOLDER / RUNTIME])
    return "\0".join(path.read_text(encoding="utf-8") for path in files)


def _common_flags() -> list[str]:
    flags = ["-std=c++17", "-fPIC", "-w", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE"]
    flags.append("-ffp-contract=fast")  # NVRTC fuses a*b+c as well
    if platform.machine() == "x86_64":
        flags.append("-mfma")
    flags.append(f"-I{FOLDER}")
    flags += [f"-isystem{folder}" for folder in cuda_include_dirs()]
    return flags


def _flags() -> list[str]:
    """The flags of a kernel."""
    # -Og: a kernel compiles in 0.7 of the time of -O1, and runs as fast.
    flags = ["-Og", *_common_flags()]
    if DEBUG:
        flags += _DEBUG_FLAGS
    if INSTRUMENTED:
        flags += _INSTRUMENTATION_FLAGS
    return flags


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _compile(command: Sequence[str], output: pathlib.Path) -> None:
    result = subprocess.run([*command, "-o", str(output)], capture_output=True, text=True, check=False)
    if result.returncode:
        raise CompileError(result.stderr[:6000])


@functools.cache
def _precompiled_shim(program: str) -> pathlib.Path:
    """The folder of the precompiled shim, which g++ takes in place of the header of that name: 0.06 s a small kernel, not 3."""
    flags = _flags()
    command = [program, *flags, "-x", "c++-header", str(FOLDER / SHIM)]
    key = _key(program, _shim_text(), *flags)
    return cache.built(f"{key}/{SHIM}.gch", lambda output: _compile(command, output)).parent


def _compiler() -> str:
    program = compiler()
    if program is None:
        raise CompileError(
            "g++ was not found: install it with the system's package manager, or set CXX to a C++ compiler"
        )
    return program


@functools.cache
def runtime() -> pathlib.Path:
    """Build the runtime, from the cache where it is there, and return its path. Raises CompileError."""
    program = _compiler()
    flags = ["-O2", "-g1", "-fvisibility=hidden", *_common_flags()]
    key = _key(program, _shim_text(), *flags)
    name = f"runtime-{key}.so"
    command = [program, *flags, "-shared", f"-Wl,-soname,{name}", str(FOLDER / RUNTIME)]
    return cache.built(name, lambda output: _compile(command, output))


def _with_gaps(assembly: str) -> str:
    """Put each static shared variable into its section, with a gap behind it, where an access past its end meets no other."""

    def define(common: re.Match[str]) -> str:
        name, size, alignment = common[1], common[2], int(common[3])
        if alignment < _SHARED_ALIGNMENT:
            return common[0]
        return (
            f'\t.pushsection\tlucid_shared,"aw"\n\t.balign\t{alignment}\n\t.type\t{name}, @object\n'
            f"\t.size\t{name}, {size}\n{name}:\n\t.zero\t{size}\n\t.zero\t{_GAP}\n\t.popsection\n"
        )

    def separate(section: re.Match[str]) -> str:
        return re.sub(r"(\n\s*\.zero\s+\d+)", rf"\1\n\t.zero\t{_GAP}", section[0])

    parts = _COMMON.sub(define, _SHARED_SECTION.sub(separate, assembly))
    return f'\t.section\tlucid_shared,"aw"\n\t.balign\t{_SHARED_ALIGNMENT}\n\t.zero\t{_GAP}\n\t.text\n{parts}'


def build(cpp: str, options: Sequence[str] = ()) -> pathlib.Path:
    """Compile a translation unit to a shared library and return its path; from the cache where it is there.

    Raises CompileError with the compiler's messages.
    """
    program = _compiler()
    flags = [*_flags(), *options]

    def compile_unit(library: pathlib.Path) -> None:
        unit, assembly = library.with_name("unit.cpp"), library.with_name("unit.s")
        unit.write_text(cpp, encoding="utf-8")
        # A definition that the shim depends on makes g++ pass over the precompiled one, and take the header.
        _compile([program, f"-I{_precompiled_shim(program)}", *flags, "-S", str(unit)], assembly)
        assembly.write_text(_with_gaps(assembly.read_text(encoding="utf-8")), encoding="utf-8")
        # The runtime has g++'s libraries, and a kernel finds their functions there: to look through them took 0.07 s a kernel.
        _compile([program, "-shared", "-nodefaultlibs", str(assembly), str(runtime()), "-lm"], library)

    return cache.built(f"{_key(program, cpp, _shim_text(), *flags)}.so", compile_unit)
