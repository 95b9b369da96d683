"""Functions of a float32 for use inside kernels, written for whole vectors of AVX-512 in LLVM IR.

LLVM makes vectors of what scalar code says, and no scalar code says that a table lies in two registers, or that a number is
scaled by a power of two in one instruction. But for a call in a loop it takes the vector version of the function, if that names
one ("vector-function-abi-variant", https://llvm.org/docs/LangRef.html), and then inlines that. The function itself is one lane
of it, so that results do not depend on where an element lies.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..runtime.intrinsic import intrinsic
from ..simd.cpu_features import WIDE, has_feature

AVAILABLE = WIDE and has_feature("avx512dq")
_FLOAT, _INDEX = ir.FloatType(), ir.IntType(32)
_LANES = 16
# A loop that computes in float64 too has vectors of eight lanes, and so has the rest of a loop.
_VERSIONS = (_LANES, _LANES // 2)


class Registers:
    """Emits the arithmetic of registers of 16 float32, `type`."""

    type = ir.VectorType(_FLOAT, _LANES)
    # What other lanes keep, the mask of the lanes, and the rounding: that of the processor's state, as everywhere.
    _unmasked = (ir.Constant(type, ir.Undefined), ir.Constant(ir.IntType(_LANES), -1), ir.Constant(_INDEX, 4))

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder

    def constant(self, value: Any) -> Any:
        """A number in each lane."""
        return ir.Constant(self.type, [float(np.float32(value))] * _LANES)

    def limited(self, x: Any, most: float) -> Any:
        """`x` within [-most, most]; `most` for NaN."""
        smaller_with_sign_of_x = ir.Constant(_INDEX, 0b0010)
        return self._call("llvm.x86.avx512.mask.range.ps.512", x, self.constant(most), smaller_with_sign_of_x, *self._unmasked)

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """x * y + z, rounded once."""
        return self._call("llvm.fma.v16f32", x, y, z)

    def look_up(self, table: Any, indices: Any) -> Any:
        """Entries of a table of 32, at the indices in the low five bits of each lane."""
        indices = self.builder.bitcast(indices, ir.VectorType(_INDEX, _LANES))
        low, high = (ir.Constant(self.type, half.tolist()) for half in np.asarray(table, np.float32).reshape(2, _LANES))
        return self._call("llvm.x86.avx512.vpermi2var.ps.512", low, indices, high)

    def scaled(self, x: Any, exponent: Any) -> Any:
        """x times 2 to the power `exponent`, rounded down to an integer."""
        return self._call("llvm.x86.avx512.mask.scalef.ps.512", x, exponent, *self._unmasked)

    def _call(self, name: str, *arguments: Any) -> Any:
        module = self.builder.module
        signature = ir.FunctionType(self.type, [argument.type for argument in arguments])
        function = module.globals.get(name) or ir.Function(module, signature, name)
        return self.builder.call(function, arguments)


def vector_function(emit: Callable[[Registers, Any], Any]) -> Any:
    """A function for jitted code, of one float32, from one that emits what it is of a register."""
    name = f"lucid_{emit.__name__}"

    @intrinsic
    def call(typing, x):
        def generate(context, builder, signature, arguments):
            function = builder.module.globals.get(name) or _define(builder.module, name, emit)
            return builder.call(function, arguments)

        return types.float32(types.float32), generate

    return call


def _define(module: ir.Module, name: str, emit: Callable[[Registers, Any], Any]) -> ir.Function:
    """Add the function `name` of one float32, and its vector versions."""
    versions = []
    for lanes in _VERSIONS:
        kind = ir.VectorType(_FLOAT, lanes)
        version = ir.Function(module, ir.FunctionType(kind, [kind]), f"{name}_{lanes}")
        version.linkage = "weak_odr"  # nothing calls it until loops have become vectors
        version.attributes.add("alwaysinline")
        builder = ir.IRBuilder(version.append_basic_block())
        builder.ret(_first(builder, emit(Registers(builder), _first(builder, version.args[0], _LANES)), lanes))
        versions.append(version)

    function = ir.Function(module, ir.FunctionType(_FLOAT, [_FLOAT]), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    names = ",".join(f"_ZGV_LLVM_N{lanes}v_{name}({name}_{lanes})" for lanes in _VERSIONS)
    set.add(function.attributes, f'"vector-function-abi-variant"="{names}"')  # llvmlite knows LLVM's own attributes only
    builder = ir.IRBuilder(function.append_basic_block())
    first = ir.Constant(_INDEX, 0)
    lanes = builder.insert_element(ir.Constant(Registers.type, [0.0] * _LANES), function.args[0], first)
    builder.ret(builder.extract_element(builder.call(versions[0], [lanes]), first))
    return function


def _first(builder: ir.IRBuilder, vector: Any, lanes: int) -> Any:
    """The first `lanes` of a vector, over again where it has fewer."""
    count = vector.type.count
    if count == lanes:
        return vector
    indices = ir.Constant(ir.VectorType(_INDEX, lanes), [lane % count for lane in range(lanes)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), indices)
