"""`install()`: the real CuPy finds a GPU whose driver, runtime and libraries do nothing.

CuPy's extensions hold a copy of CUDA's runtime each, and load the driver and the libraries. The driver is `cuda.c`; of each
library a stub is generated with the names that CuPy asks for; in the copies of the runtime the first instructions of each
function are overwritten with a jump. Nothing of the installation is changed: only the memory of this process, which can do
nothing else with CuPy afterwards.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from importlib.machinery import PathFinder

SOURCE = pathlib.Path(__file__).with_name("cuda.c")
#: Libraries that CuPy links; their names go on with `.so.` and a version.
LIBRARIES = ("libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse")
#: What lucid itself asks of a library, and CuPy does not, with the body in C of what must give something back.
ALSO = {"libcublas": {"cublasSetWorkspace_v2": ""}, "libcublasLt": {
    "cublasLtMatmul": "", "cublasLtMatmulDescSetAttribute": "", "cublasLtMatmulPreferenceSetAttribute": "",
    "cublasLtMatmulDescDestroy": "", "cublasLtMatrixLayoutDestroy": "", "cublasLtMatmulPreferenceDestroy": "",
    **dict.fromkeys(("cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate"),
                    "*(void**)a = (void*)16;"),
    "cublasLtMatmulAlgoGetHeuristic": "*(int*)j = 1;"}}
COUNTERS = ("launches", "products", "allocations", "copies")  # as in cuda.c
_COUNTED = re.compile(r"cublasGemm\w*Ex\w*|cublas[SDCZH]gemm\w*|cublasLtMatmul")  # of the libraries' functions: products
_RUNTIME = re.compile(r"cuda[A-Z]\w*")
_SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_JUMP = b"\x48\xb8%b\xff\xe0"  # mov rax, address; jmp rax
_PROTECTION = 7  # read, write, execute


def problem() -> str | None:
    """What is missing for the stub, and what to do; None if nothing is."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the host's time is measured on Linux with x86-64 only: the stub writes instructions of that processor"
    for tool, package in (("gcc", "gcc"), ("nm", "binutils"), ("readelf", "binutils")):
        if shutil.which(tool) is None:
            return f"the host's time needs {tool}, which builds the stub: install {package} with the system's package manager"
    if PathFinder.find_spec("cupy_backends") is None:  # not in `sys.modules`, where the simulator's stand-in may be
        return "the host's time is that of the real CuPy, without a GPU: pip install cupy-cuda13x (or cupy-cuda12x)"
    return None


class Stub:
    """The stub in this process, with its counters."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._read = library.stub_read
        self._counts = (ctypes.c_long * len(COUNTERS))()

    def counts(self) -> dict[str, int]:
        """What was called since the last time, by name of `COUNTERS`."""
        self._read(self._counts)
        return dict(zip(COUNTERS, self._counts, strict=True))


_installed: list[Stub] = []


def current() -> Stub:
    """The stub that this process uses. Raises RuntimeError without one."""
    if not _installed:
        raise RuntimeError("this process does not use the stub")
    return _installed[0]


def install() -> Stub:
    """Build the stub, load it and import CuPy on top of it. Raises RuntimeError with the `problem`, or if CuPy is imported."""
    missing = problem()
    if missing is not None:
        raise RuntimeError(missing)
    if "cupy" in sys.modules:
        raise RuntimeError("the stub must come before CuPy")
    os.environ["CUPY_ACCELERATORS"] = ""  # what cub computes with host code would be counted as the host's time
    os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # what is "compiled" here must not be found by a real run
    with tempfile.TemporaryDirectory() as folder:
        extensions = _extensions()
        libraries = _linked(extensions)
        cuda = next(name.rpartition(".")[2] for name in libraries if name.startswith("libcublas."))  # has CUDA's version
        driver = _load(_build(f"#define CUDA {cuda}\n{_driver(extensions)}", pathlib.Path(folder), "libcuda.so.1"))
        for name, symbols in libraries.items():
            _load(_build(_library(symbols), pathlib.Path(folder), name, driver=True))
        for path, symbols in _runtimes(extensions).items():
            _redirect(path, symbols, driver)
    _compile_nothing()
    _trust_products()
    _installed.append(Stub(driver))
    return _installed[0]


def _extensions() -> list[pathlib.Path]:
    """CuPy's extension modules."""
    roots = []
    for package in ("cupy", "cupy_backends"):
        spec = PathFinder.find_spec(package)
        assert spec is not None
        roots += spec.submodule_search_locations or []
    return [path for root in roots for path in sorted(pathlib.Path(root).rglob("*.so"))]


def _output(*command: object) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


def _driver(extensions: list[pathlib.Path]) -> str:
    """The source of the driver, with a function that succeeds at once for each other name that CuPy looks up."""
    source = SOURCE.read_text()
    defined = set(re.findall(r"^\w[\w* ]*\b(cu[A-Z]\w*)\(", source, re.M))
    asked = {name.decode() for path in extensions if path.name.startswith("driver.")
             for name in re.findall(rb"\bF_(cu[A-Z]\w*)", path.read_bytes())}
    names = {name + version for name in asked for version in ("", "_v2", "_v3")} - defined
    return source + "".join(f"int {name}(void) {{ return 0; }}\n" for name in sorted(names))


def _linked(extensions: list[pathlib.Path]) -> dict[str, set[str]]:
    """The names that the extensions ask of each of `LIBRARIES`, by the full name of the library."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in extensions:
        needed = re.findall(r"NEEDED.*\[(.+)\]", _output("readelf", "-d", path))
        ours = [name for name in needed if name.partition(".")[0] in LIBRARIES]
        for line in _output("nm", "-D", "--undefined-only", path).splitlines() if ours else ():
            symbol, _, library = line.split()[-1].partition("@")
            if library in ours:
                found[library].add(symbol)
            elif len(ours) == 1 and symbol.startswith(ours[0][3:].partition(".")[0]):
                found[ours[0]].add(symbol)
        for library in ours:
            if library.startswith("libcublas."):  # CuPy looks for what NVIDIA's cuBLAS needs
                found[library.replace("libcublas", "libcublasLt")] = set()
    for library, symbols in found.items():
        symbols.update(ALSO.get(library.partition(".")[0], ()))
    return found


def _library(symbols: set[str]) -> str:
    """The source of a library whose functions succeed at once."""
    lines = ["void stub_count(int);"]
    bodies = {name: body for names in ALSO.values() for name, body in names.items()}
    parameters = ", ".join(f"long {name}" for name in "abcdefghij")  # enough for all bodies; who passes fewer uses fewer
    for symbol in sorted(symbols):
        count = f"stub_count({COUNTERS.index('products')}); " if _COUNTED.fullmatch(symbol) else ""
        lines.append(f"int {symbol}({parameters}) {{ {count}{bodies.get(symbol, '')} return 0; }}")
    return "\n".join(lines) + "\n"


def _build(source: str, folder: pathlib.Path, name: str, driver: bool = False) -> pathlib.Path:
    """The shared library `name` of a C source, with its name as the version of all symbols, as NVIDIA's have."""
    path, script, text = folder / name, folder / f"{name}.map", folder / f"{name}.c"
    script.write_text(f"{name} {{ global: *; }};\n")
    text.write_text(source)
    links = [folder / "libcuda.so.1"] if driver else ["-ldl"]
    command = ["gcc", "-O2", "-shared", "-fPIC", "-w", "-o", path, text, f"-Wl,-soname,{name}"]
    if driver:
        command.append(f"-Wl,--version-script={script}")
    subprocess.run([*map(str, [*command, *links])], check=True)
    return path


@functools.cache
def _load(path: pathlib.Path) -> ctypes.CDLL:
    """A library by whose name the loader answers from now on."""
    return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def _runtimes(extensions: list[pathlib.Path]) -> dict[pathlib.Path, dict[str, int]]:
    """The functions of CUDA's runtime inside the extensions, each with its place in the file's image."""
    found = {}
    for path in extensions:
        if "jitify" in path.name:  # needs a compiler's library, and nothing of ours needs it
            continue
        lines = (line.split() for line in _output("nm", path).splitlines())
        symbols = {parts[2]: int(parts[0], 16) for parts in lines
                   if len(parts) == 3 and parts[1] in "tT" and _RUNTIME.fullmatch(parts[2])}
        if symbols:
            found[path] = symbols
    return found


def _redirect(path: pathlib.Path, symbols: dict[str, int], driver: ctypes.CDLL) -> None:
    """Load an extension, without initialising it as a module, and let the functions at `symbols` jump to those of the stub."""
    ctypes.CDLL(str(path))
    with open("/proc/self/maps") as maps:
        base = next(int(line.partition("-")[0], 16) for line in maps if line.rstrip().endswith(str(path.resolve())))
    libc, page = ctypes.CDLL(None), os.sysconf("SC_PAGE_SIZE")
    for name, place in symbols.items():
        plain = _SUFFIX.sub("", name)
        function = next((getattr(driver, f"rt_{n}") for n in (name, plain) if hasattr(driver, f"rt_{n}")), driver.stub_success)
        target = ctypes.cast(function, ctypes.c_void_p).value
        assert target is not None
        address = base + place
        if libc.mprotect(ctypes.c_void_p(address // page * page), ctypes.c_size_t(2 * page), _PROTECTION):
            raise RuntimeError(f"cannot change the copy of CUDA's runtime in {path.name}")
        ctypes.memmove(address, _JUMP % target.to_bytes(8, "little"), 12)


class _Program:
    """CuPy's program for NVRTC, which takes any text for a compiled kernel."""

    def __init__(self, source: object, *_: object, name_expressions: Sequence[str] | None = None, **__: object) -> None:
        self.names = name_expressions

    def compile(self, options: object = (), log_stream: object = None) -> tuple[bytes, dict[str, str] | None]:
        return b"stub", {name: name for name in self.names} if self.names else None


def _compile_nothing() -> None:
    """Let CuPy do without NVRTC, and without CUB's sorting, which does not run on the stub: what it costs is not counted."""
    from cupy.cuda import compiler, thrust

    for name in ("argsort", "lexsort", "sort"):
        setattr(thrust, name, lambda *_: None)

    compiler._get_nvrtc_version = lambda: (13, 0)
    compiler._NVRTCProgram = _Program


def _trust_products() -> None:
    """Let products with an activation count as right: their trial would look at results, which are zeros here."""
    from lucid_kernels.cuda.matmul import epilogues

    epilogues.is_right_forward = epilogues.is_right_backward = epilogues.is_right_sums = lambda *_: True
