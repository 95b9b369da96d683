"""CUDA source text on its way to C++."""

from __future__ import annotations

import pathlib

import pytest
from lucid_kernels.simulator import CompileError, symbols
from lucid_kernels.simulator.source import amalgamate, extern_c_kernels, line_of_shared, parameter_names, to_cpp


def test_includes_are_inlined_once_with_line_marks(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.cuh").write_text('#pragma once\n#include "b.cuh"\nint a;\n')
    (tmp_path / "b.cuh").write_text("#pragma once\nint b;\n")
    text = amalgamate('#include "a.cuh"\n#include "b.cuh"\nint c;\n', [tmp_path], "k.cu")
    assert text.count("int b;") == 1
    assert text.index("int b;") < text.index("int a;") < text.index("int c;")
    assert '#line 1 "b.cuh"' in text and '#line 2 "k.cu"' in text
    assert "#pragma once" not in text


def test_a_missing_include_is_named() -> None:
    with pytest.raises(CompileError, match=r"k\.cu:2: include 'gone\.cuh' not found"):
        amalgamate('int a;\n#include "gone.cuh"\n', [], "k.cu")


def test_extern_c_kernels_are_found_but_not_in_comments() -> None:
    code = """
    extern "C" __global__ void one(int* x) {}
    extern "C" __global__ void __launch_bounds__(256, 2) two(int* x) {}
    // extern "C" __global__ void three(int* x) {}
    /* extern "C" __global__ void four(int* x) {} */
    __global__ void five(int* x) {}
    """
    assert extern_c_kernels(code) == ["one", "two"]


def test_cpp_exports_kernels_and_moves_standard_includes() -> None:
    cpp = to_cpp(
        "#include <cmath>\n#include <cuda_fp16.h>\nextern __shared__ float buffer[];\n", ["k<float, 2>"], "k.cu"
    )
    assert cpp.index("#include <cmath>") < cpp.index("namespace {")
    assert "cuda_fp16" not in cpp
    assert "LUCID_DYNAMIC_SHARED_MEMORY(float, buffer);" in cpp
    assert "LUCID_EXPORT_KERNEL(0, k<float, 2>)" in cpp


def test_names_of_parameters() -> None:
    code = """
// __global__ void k(int wrong)
template <typename T, int N> __global__ void __launch_bounds__(N) k(const T* __restrict__ x, T (*pairs)[2], float4 y /* z */, int n = f(1, 2)) {}
extern "C" __global__ void none() {}
"""
    assert parameter_names(code, "k<float, 3>") == ["x", "pairs", "y", "n"]
    assert parameter_names(code, "none") == [] == parameter_names(code, "other")


def test_where_a_shared_variable_is_declared() -> None:
    code = '\n\n#line 1 "tiles.cuh"\n\n__shared__ float tile[8];\n#line 9 "kernel.cu"\n\n__shared__ int a, b;\n'
    assert line_of_shared(code, "tile", "kernel.cu") == "tiles.cuh:2"
    assert line_of_shared(code, "b", "kernel.cu") == "kernel.cu:10"
    assert line_of_shared(code, "c", "kernel.cu") == "kernel.cu"


def test_names_of_static_variables() -> None:
    assert symbols._split("_ZZN12_GLOBAL__N_16kernelEPfE4tile") == ("_ZZN12_GLOBAL__N_16kernelEPfE", "tile")
    assert symbols._split("_ZZN12_GLOBAL__N_11kIdLi14EEEvPT_E4tile_0") == ("_ZZN12_GLOBAL__N_11kIdLi14EEEvPT_E", "tile")
    assert symbols._split("_ZN12_GLOBAL__N_1L5tableE")[0] == ""
