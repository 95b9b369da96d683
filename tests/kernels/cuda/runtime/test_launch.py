"""The launch helpers, the source loader, and that CPU and CUDA functions take the same arguments."""
from __future__ import annotations

import importlib
import inspect
import re

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cuda.runtime import source
from lucid_kernels.simulator import mutants

from lucid.backends.families import FAMILIES

HEADERS = {"a.cuh": '#pragma once\n#include "b.cuh"\nint a;\n', "b.cuh": "int b;\n"}


@pytest.fixture
def launch(cp):
    from lucid_kernels.cuda.runtime import launch

    yield launch
    launch.forget_pending()


# ---------------------------------------------------------------------------------------------------------- sources
def test_includes_are_inlined_once():
    text = source.inline_includes('#include "a.cuh"\n#include "b.cuh"\n#include <math_constants.h>\nint c;\n', HEADERS.__getitem__)
    lines = [line for line in text.splitlines() if line and not line.startswith("#line")]
    assert lines == ["int b;", "int a;", "#include <math_constants.h>", "int c;"]
    assert text.splitlines()[-3:] == ['', "#include <math_constants.h>", "int c;"]
    assert '#line 2 "kernel.cu"' in text and '#line 3 "a.cuh"' in text


def test_instantiations():
    text = "// instantiate: f<float>, g<float, true>\nint x;\n// instantiate: h\n"
    assert source.instantiations(text) == ("f<float>", "g<float, true>", "h")
    fewer = source.with_instantiations(text, ["g<float, true>", "other"])
    assert source.instantiations(fewer) == ("g<float, true>",)
    assert len(fewer.splitlines()) == len(text.splitlines())


def test_what_may_be_part_of_a_fused_kernel_is_rounded_alone() -> None:
    assert source.options(source.load("elementwise")) == ("--fmad=false",)
    assert source.options(source.load("softmax")) == ()
    assert source.options("// each operation is rounded alone, if it were so\n") == ()


@pytest.mark.parametrize("name", source.names())
def test_every_source_follows_the_rules(name):
    text = source.load(name)
    assert source.instantiations(text), "no `// instantiate:` line"
    assert '#include "' not in text and "cooperative_groups" not in text
    simulated = re.sub(r"(?ms)^#if[^\n]*LUCID_SIMULATOR.*?^#endif", "", text)
    assert not re.search(r"\basm\b", mutants.visible(simulated)), "inline PTX without a function of the simulator in its place"
    allowed = {"#include <math_constants.h>", "#include <cuda_fp16.h>", "#include <cuda_bf16.h>"}
    assert {line for line in text.splitlines() if line.startswith("#include")} <= allowed


def _signature(function) -> list:
    """Names and kinds of the parameters: the dispatcher passes every one of them."""
    return [(p.name, p.kind) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("family", FAMILIES)
def test_both_sides_take_the_same_arguments(cp, family):
    cuda = importlib.import_module(f"lucid_kernels.cuda.{family}")
    cpu = pytest.importorskip(f"lucid_kernels.cpu.{family}")
    for kernel in FAMILIES[family].split():
        if hasattr(cuda, kernel):  # CuPy's own function serves where only the CPU needs a kernel
            assert _signature(getattr(cuda, kernel)) == _signature(getattr(cpu, kernel)), kernel


# --------------------------------------------------------------------------------------------------------- launching
def test_geometry(launch):
    assert launch.grid_1d(1) == ((1,), (256,))
    assert launch.grid_1d(1000) == ((4,), (256,))
    assert launch.grid_1d(10**12)[0][0] == 32 * launch.multiprocessors()
    assert [launch.row_block(n) for n in (0, 1, 32, 33, 100, 256, 10**6)] == [32, 32, 32, 64, 128, 256, 256]
    assert launch.slices(10, 512) == ((3,), (32, 4))
    assert launch.slices(3, 513) == ((3,), (256, 1))


def test_a_kernel_is_compiled_once(launch, monkeypatch):
    first = launch.kernel("unscale", "unscale<float>")
    assert launch.kernel("unscale", "unscale<float>") is first
    read = []
    monkeypatch.setattr(launch, "source", lambda name: read.append(name) or source.load(name))
    launch.reload()
    assert launch.kernel("unscale", "unscale<float>") is not first
    launch.kernel("unscale", "unscale<double>")
    assert read == ["unscale"]
    with pytest.raises(TypeError, match="complex64"):
        launch.ctype(np.complex64)


def test_result_and_deliver(launch, cp):
    out = cp.zeros((2, 3), np.float32)
    assert launch.result(out, (2, 3), np.float32) is out
    assert launch.deliver(out, out) is out and launch.deliver(out, None) is out
    for other in (cp.zeros((3, 2), np.float32).T, cp.zeros((2, 3), np.float16)):
        fresh = launch.result(other, (2, 3), np.float32)
        assert fresh is not other and fresh.flags.c_contiguous and fresh.dtype == np.float32
        fresh.fill(2)
        assert launch.deliver(fresh, other) is other
        np.testing.assert_array_equal(other.get(), 2)
    with pytest.raises(ValueError, match="shape"):
        launch.deliver(out, cp.zeros((1, 2, 3), np.float32))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_upcast_half(launch, cp, dtype):
    @launch.upcast_half(statistics=(1,), like={2: 1})
    def function(x, weight, *, out=None):
        assert x.dtype == np.float32 and (weight is None or weight.dtype == np.float32) and out is None
        return x + 1, x.sum(), x * 2, None

    x = cp.asarray(np.ones(3, dtype))
    assert [r.dtype for r in function(x, cp.ones(3, np.float32))[:3]] == [dtype, np.float32, np.float32]
    assert [r.dtype for r in function(x, x)[:3]] == [dtype, np.float32, dtype]
    out = cp.zeros(3, np.float64)
    results = function(x, None, out=(out, None, None, None))
    assert results[0] is out and results[2].dtype == dtype and results[3] is None
    np.testing.assert_array_equal(out.get(), 2)


# ------------------------------------------------------------------------------------------------------ device errors
def test_a_device_error_is_raised_once(launch):
    code = launch.error_code("test: index {value} of {limit}")
    assert launch.error_code("test: index {value} of {limit}") == code and isinstance(code, np.int32)
    flag = launch.error_flag()
    launch.raise_pending()  # nothing was wrong
    assert launch.error_flag() is flag
    flag[0], flag[2], flag[3], flag[4], flag[5] = int(code), -5, -1, 0, 1  # as set_error writes -5 and 2**32
    with pytest.raises(IndexError, match="test: index -5 of 4294967296 .*gpu:0"):
        launch.raise_pending()
    launch.error_flag()
    launch.raise_pending()


def test_nothing_pending_costs_nothing(launch, monkeypatch):
    launch.raise_pending()
    monkeypatch.setattr(launch, "cupy", None)  # would fail if it were used
    launch.raise_pending()
