"""Every elementwise operation has one complete row, and `explain` says which function really computes it."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends
from lucid.backends import TABLES, explain, symbolic
from lucid.backends.__main__ import main
from lucid.backends.common import elementwise as common
from lucid.backends.elementwise import ROWS, Row, _by_name
from lucid.backends.elementwise.row import COMPOSED, EXPRESSION, FORMULA, INTERNAL, PRIMITIVE

TABLE = TABLES[np.ndarray]
INTEGERS = {"gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift"}
#: What formulas have beside the elementwise operations: tensors that are not read, and choices by a mask.
OTHER_FORMULAS = {"where", "masked_fill", "cast", "copy", "contiguous", "full"}


def observed(call: Callable[[], Any]) -> list[str]:
    """The Python functions of ours that return something during a call, by module and name."""
    returned: list[str] = []

    def profile(frame: Any, event: str, result: Any) -> None:
        if event == "return" and result is not None:
            returned.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")

    with np.errstate(all="ignore"):
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
    return returned


def call_of(name: str, operands: Any, out: Any = None, table: Any = TABLE) -> Callable[[], Any]:
    """A call of the operation, of which one has been made: it imports and compiles."""
    attributes = explain.attributes_of(ROWS[name]) | ({} if out is None else {"out": out})

    def call() -> Any:
        return table[name](*operands, **attributes)

    with np.errstate(all="ignore"):
        call()
    return call


def computed_by(returned: list[str]) -> list[str]:
    """Those of the observed functions that may be the one which computes a result."""
    kernels = ("lucid_kernels.cpu.elementwise.", "lucid_kernels.cpu.arrays.broadcast.of_distinct",
               "lucid.backends.cpu.half_precision.by_formula")
    return [function for function in returned if function.startswith(kernels)]


def dtypes_of(name: str) -> list[str]:
    if name in INTEGERS:
        return ["int32"]
    of_ours = ROWS[name].family and name not in common.ARITHMETIC
    half = ("float16", "bfloat16")[sorted(ROWS).index(name) % 2]  # in turn, as the same functions compute both
    return ["float32", "float64", half] + ([] if of_ours else ["complex64"])


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in sorted(ROWS) for dtype in dtypes_of(name)])
def test_explain_says_what_runs(name: str, dtype: str) -> None:
    row = ROWS[name]
    sizes = sorted({8, 3000, 1 << 18, *[kernel.least for kernel in row.kernels]})
    for size in sizes if dtype != "complex64" else [8]:
        for layout in ("contiguous", "transposed") if size == 3000 else ("contiguous",):
            shape = (size // 50, 50) if layout == "transposed" else (size,)
            operands = explain.example(name, dtype, shape, layout)
            try:
                found = explain.explain(name, dtype, shape, layout=layout)
            except TypeError:  # not a function of complex numbers
                assert dtype == "complex64"
                continue
            check(name, found, observed(call_of(name, operands)))
            if row.out and not row.truth and layout == "contiguous" and dtype != "complex64":
                found = explain.explain(name, dtype, shape, out=True)
                check(name, found, observed(call_of(name, operands, np.empty_like(operands[0]))))


def check(name: str, found: explain.Explanation, returned: list[str]) -> None:
    if found.function.startswith("numpy."):
        assert not computed_by(returned), (name, found, returned)
        assert hasattr(np, found.function.removeprefix("numpy."))
    elif found.function.startswith(f"{common.__name__}.") and ROWS[name].function == COMPOSED:
        composition = f"{common.__name__}.compositions.<locals>.{name}"
        assert composition in returned and not set(computed_by(returned[returned.index(composition):])), (name, found, returned)
    else:
        assert found.function in returned, (name, found, returned)


def test_operations_that_are_not_elementwise_name_their_entry(capsys: pytest.CaptureFixture[str]) -> None:
    for name in TABLE:
        if name not in ROWS:
            function, reason = explain.explain(name, "float32", (8,))
            assert reason and importlib.import_module(function.partition("._")[0].rsplit(".", 1)[0].partition(".table")[0].partition(".activated")[0])
    main(["explain", "add", "float32", "1000x1000", "--out"])
    assert "lucid_kernels.cpu.elementwise.elementwise.add\n" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["explain", "nothing"])


def test_arrays_of_the_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    if not backends.available():
        pytest.skip("no GPU")
    for name, row in ROWS.items():
        function, _ = explain.explain(name, "float32", (1 << 20,), device="gpu")
        module, _, attribute = function.rpartition(".")
        assert row.function == COMPOSED or hasattr(importlib.import_module(module), attribute), name
    assert explain.explain("add", "float32", (8,), device="gpu").function == "lucid_kernels.cuda.elementwise.elementwise.add"
    assert explain.explain("gcd", "int32", (8,), device="gpu").function == "cupy.gcd"
    with pytest.raises(TypeError, match="floating"):
        explain.explain("silu", "int32", (8,), device="gpu")


@pytest.mark.parametrize(("name", "dtype"), [
    ("exp", "int32"), ("exp", "complex64"), ("add", "complex64"), ("eq", "complex64"), ("eq", "int32"), ("add", "int64"), ("add", "bool"),
    ("sub", "float32"), ("floor_divide", "int32"), ("power", "int32"), ("sign", "int32"), ("bitwise_and", "bool"),
])
def test_explain_says_what_runs_on_the_gpu(name: str, dtype: str) -> None:
    if not backends.available():
        pytest.skip("no GPU")
    function, reason = explain.explain(name, dtype, (8,), device="gpu")
    gpu = backends.gpu_module()
    operands = [backends.to_device(x, backends.Device("gpu")) for x in explain.example(name, dtype, (8,))]
    call = call_of(name, operands, table=gpu.TABLE)
    importlib.import_module("lucid_kernels.cuda.runtime.plans").forget()
    returned = observed(call)
    fused = "lucid_kernels.cuda.elementwise.fused.fused"
    assert (fused in returned) == (function == fused), (function, returned)
    assert ("lucid_kernels.cuda.elementwise.elementwise._apply" in returned) == (reason == "a kernel for floating arrays"), returned


@pytest.mark.parametrize(("arguments", "message"), [
    (["pow"], "no operation 'pow' on cpu: perhaps power"), (["silu", "float33"], "'float33'"), (["add", "float32", "3x-1"], "'3x-1'"),
    (["bitwise_and", "float32"], "bitwise_and of float32 8 on cpu: "), (["erfcx", "int64"], "its kernels take floating arrays"),
    (["nan_to_num", "int64"], "nan_to_num of int64 8 on cpu: "),
])
def test_explain_says_what_is_wrong_with_a_question(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", *arguments])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_rows_are_complete(row: Row) -> None:
    """What a row names is there, and it says all that is known elsewhere."""
    assert (row.function == COMPOSED) == (row.name in common.compositions(np, lambda name: getattr(np, name)))
    assert row.function in (COMPOSED, FORMULA) or bool(row.family) or hasattr(np, row.source)
    assert row.function != FORMULA or row.formula == EXPRESSION
    for side in ("cpu", "cuda") if row.family else ():
        assert hasattr(importlib.import_module(f"lucid_kernels.{side}.{row.family}"), row.name)
    if row.formula in (PRIMITIVE, EXPRESSION):
        assert row.name in symbolic.TABLE
    else:
        assert row.name not in symbolic.TABLE, "there is a formula: say so in the row"
    if row.half == FORMULA:
        assert row.formula, "half precision is computed by the formula"
    assert row.formula != INTERNAL or row.half == FORMULA
    assert not row.in_place or row.out, "what is done in place writes into memory"
    assert not row.truth or row.formula


def test_all_formulas_have_a_row() -> None:
    assert set(symbolic.TABLE) - OTHER_FORMULAS <= set(ROWS)


def test_an_operation_that_has_two_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="'add' has two rows"):
        _by_name((Row("add"),), (Row("sub"), Row("add")))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_formula_alone_is_an_operation_on_both_sides(dtype: str, device: str) -> None:
    """Of few and many elements, parts of arrays and half precision, and into memory that is there."""
    row = Row("leaky_relu", attributes="slope", function=FORMULA, formula=EXPRESSION)
    for size in (8, 5000):
        x = lucid.randn(2, size).to(getattr(lucid, dtype)).to(device)
        for part in (x, x[:, 1:], x.t()):
            function = common.of_formula(row, TABLES[part._array.__class__])
            wanted = lucid.nn.functional.leaky_relu(part.float(), 0.25).to(part.dtype).cpu().float().numpy()
            found = backends.to_host(function(part._array, slope=0.25))
            np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=1e-6)
        into = lucid.empty_like(x)
        assert common.of_formula(row, TABLES[x._array.__class__])(x._array, slope=0.25, out=into._array) is into._array
        np.testing.assert_allclose(into.t().cpu().float().numpy(), wanted, rtol=1e-6)
