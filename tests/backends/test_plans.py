"""Plans of GPU operations: what a plan depends on is in its key, and what it repeats is all that the call did."""
from __future__ import annotations

import gc
import inspect
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lucid import backends
from lucid.backends.gpu_probe import gpu_problem

if gpu_problem() is not None:
    pytest.skip(str(gpu_problem()), allow_module_level=True)

gpu = backends.gpu_module()

import cupy  # noqa: E402 - the simulator's, once the backend is there
from lucid_kernels import tf32  # noqa: E402
from lucid_kernels.cuda.elementwise import elementwise  # noqa: E402
from lucid_kernels.cuda.runtime import driver, launch, native, plans  # noqa: E402

from lucid.backends.elementwise import ROWS  # noqa: E402
from lucid.backends.gpu import indexing, planning  # noqa: E402

from .plan_cases import CASES, images, normal  # noqa: E402

pytestmark = pytest.mark.skipif(not plans.ENABLED, reason="LUCID_GPU_PLANS=0")


def _on_gpu(value: Any) -> Any:
    return cupy.asarray(value) if isinstance(value, np.ndarray) else value


def _host(result: Any) -> list[Any]:
    return [None if value is None else value.get() for value in (result if isinstance(result, tuple) else (result,))]


def _same(found: Any, expected: Any) -> None:
    found, expected = _host(found), _host(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def _pair(name: str) -> tuple[Any, Any]:
    """The entry of the table, and the launcher behind it."""
    if name in indexing.WRITES:
        return indexing.WRITES[name], indexing.WRITES[name].__wrapped__
    case = CASES[name]()
    gpu.TABLE[name](*map(_on_gpu, case.arrays), **case.attributes)  # from here on it is no more the entry that imports the kernel
    entry = gpu.TABLE[name]
    return entry, entry.__wrapped__


def test_every_planned_operation_has_a_case() -> None:
    assert set(CASES) == set(planning.PLANNED)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_plan_computes_what_the_launcher_does_with_every_attribute_and_other_values(name: str) -> None:
    plans.forget()
    entry, plain = _pair(name)
    case = CASES[name]()
    names = {parameter.name for parameter in inspect.signature(plain).parameters.values()
             if parameter.kind is parameter.KEYWORD_ONLY} - {"out"}
    assert names == set(case.attributes), "an attribute that no case varies"
    variants = [case.attributes, *({**case.attributes, key: value} for key, values in case.others.items() for value in values)]
    for _ in range(2):  # recorded, repeated
        for attributes in variants:
            arrays = [_on_gpu(array if array is None or array.dtype.kind in "ib" else array * 1.5) for array in case.arrays]
            _same(entry(*arrays, **attributes), plain(*arrays, **attributes))
    launch.forget_pending()


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_second_call_is_a_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = _pair(name)
    case = CASES[name]()
    arrays = [_on_gpu(array) for array in case.arrays]
    expected = _host(entry(*arrays, **case.attributes))
    monkeypatch.setattr(launch, "kernel", None)  # no launcher can work any more
    _same_hosts(_host(entry(*arrays, **case.attributes)), expected)


def _same_hosts(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64))


# ------------------------------------------------------------------------------------------------------------- keys
def _plans_of(name: str) -> dict[Any, Any]:
    """The plans of an operation, by their keys."""
    entry, _ = _pair(name)
    return inspect.getclosurevars(entry).nonlocals["plans"]


@pytest.mark.parametrize(("name", "attributes"), [("softmax", {"dim": -1}), ("layer_norm", {"normalized_ndim": 1, "eps": 1e-5})])
def test_copies_of_arguments_are_repeated(name: str, attributes: dict[str, Any]) -> None:
    """Such as of one with gaps."""
    plans.forget()
    entry, plain = _pair(name)
    plans.forget()
    for _ in range(2):
        x = cupy.asarray(normal(3, 80, 24))[:, ::2].transpose(2, 0, 1)
        others = (None, None) if name == "layer_norm" else ()
        _same(entry(x, *others, **attributes), plain(x, *others, **attributes))
    assert [bool(plan) for plan in _plans_of(name).values()] == [True] * len(_plans_of(name))


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 2), (None, 1), ((1, 2), (2, 1)), ("a", "b"), (False, True)])
def test_plans_differ_in_the_value_of_an_attribute(values: tuple[Any, Any]) -> None:
    def kernel(x: Any, *, attribute: Any) -> Any:
        y = launch.empty(x.shape, x.dtype)
        value = 7.0 if not isinstance(attribute, (int, float)) else float(attribute)
        sign = np.float32(np.copysign(1, value) + abs(value) + hash(str(attribute)) % 97)
        text = f'extern "C" __global__ void fused(const float* x, float* y) {{ y[0] = x[0] + (float){float(sign)!r}; }}\n'
        launch.generated(text)((1,), (1,), (x, y))
        return y

    entry = plans.planned(kernel)
    x = cupy.zeros((1,), np.float32)
    for _ in range(2):
        for value in values:
            _same(entry(x, attribute=value), kernel(x, attribute=value))


@pytest.mark.parametrize("change", ["shape", "dtype", "alignment", "same", "none", "out", "out given"])
def test_a_key_holds_what_a_launcher_may_see_of_its_arguments(change: str) -> None:
    seen: list[str] = []

    def kernel(a: Any, b: Any, *, out: Any = None) -> Any:
        seen.append("called")
        y = launch.result(out, a.shape, a.dtype)
        return launch.deliver(elementwise.add(a, a if b is None else b, out=y), out)

    entry = plans.planned(kernel)
    memory = cupy.zeros((40,), np.float32)
    a, b, c = memory[:8], memory[8:16], memory[16:24]
    entry(a, b)
    entry(b, c)
    assert len(seen) == 1
    others: dict[str, Callable[[], Any]] = {
        "shape": lambda: entry(a.reshape(2, 4), b.reshape(2, 4)),
        "dtype": lambda: entry(a.astype(np.float64), b.astype(np.float64)),
        "alignment": lambda: entry(a, memory[9:17]),
        "same": lambda: entry(a, a),
        "none": lambda: entry(a, None),
        "out": lambda: entry(a, b, out=c),
        "out given": lambda: entry(a, b, out=a),
    }
    others[change]()
    assert len(seen) == 2
    others[change]()
    assert len(seen) == 2


def test_arguments_that_are_one_array_do_not_stand_for_two() -> None:
    entry, plain = _pair("sub")
    a, b = cupy.asarray(normal(9)), cupy.asarray(normal(9))
    for _ in range(2):
        _same(entry(a, a), plain(a, a))
        _same(entry(a, b), plain(a, b))
        _same(entry(b, a), plain(b, a))
    expected = plain(a, b).get()
    assert entry(a, b, out=a) is a
    np.testing.assert_array_equal(a.get(), expected)
    for _ in range(2):
        expected = plain(a, b).get()
        assert entry(a, b, a) is a  # as gradients are added up
        np.testing.assert_array_equal(a.get(), expected)


@pytest.mark.parametrize(("name", "view", "has_one"), [
    *[("relu", view, True) for view in (lambda x: x.T, lambda x: x[::2], lambda x: x[:, 1:])], ("relu", lambda x: x[:0], False),
    ("max_pool2d", lambda x: x[:, :, ::2], True), ("max_pool2d", lambda x: x[:0], False)])
def test_arrays_that_a_launcher_copies_have_plans_and_empty_ones_have_none(name: str, view: Callable[[Any], Any], has_one: bool) -> None:
    entry, plain = _pair(name)
    x = cupy.asarray(normal(6, 6) if name == "relu" else normal(2, 2, 6, 6))
    window = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False}
    attributes = {} if name == "relu" else window
    found, x = _plans_of(name), view(x)
    found.clear()
    for _ in range(2):
        ours, wanted = entry(x, **attributes), plain(x, **attributes)
        for a, b in zip(ours, wanted, strict=True) if isinstance(ours, tuple) else [(ours, wanted)]:
            _same(a, b)
    assert any(found.values()) == has_one


def _heads(x: np.ndarray) -> Any:
    return cupy.asarray(np.ascontiguousarray(x.transpose(0, 2, 1, 3))).transpose(0, 2, 1, 3)


def _last(x: np.ndarray) -> Any:
    return cupy.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("name", ["attention", "attention_grad", "conv2d", "conv2d_grad_input", "conv2d_grad_weight"])
def test_what_reads_any_strides_has_a_plan_for_each(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, plain = _pair(name)
    case = CASES[name]()
    move = _heads if name.startswith("attention") else _last
    if name.startswith("conv"):
        monkeypatch.setattr(tf32, "convolutions", True)
        case.arrays = tuple(None if a is None else np.tile(a, (1, 2, 1, 1)) for a in case.arrays)
        case.attributes |= {key: (value[0], 2 * value[1], *value[2:]) for key, value in case.attributes.items() if "shape" in key}
        if name != "conv2d":
            case.arrays = (case.arrays[0], case.arrays[1]) if "weight" in name else (case.arrays[0][:, :8], case.arrays[1])
        if "weight" in name:
            case.attributes["weight_shape"] = (16, 8, 3, 3)

    def given(reordered: bool) -> list[Any]:
        return [move(array) if reordered and array is not None and array.ndim == 4 else _on_gpu(array) for array in case.arrays]

    plans.forget()
    expected = {reordered: plain(*given(reordered), **case.attributes) for reordered in (True, False)}
    for reordered in (True, False, True, False):
        _same(entry(*given(reordered), **case.attributes), expected[reordered])
    monkeypatch.setattr(launch, "kernel", None)
    for reordered in (True, False):
        found = entry(*given(reordered), **case.attributes)
        _same(found, expected[reordered])
        for a, b in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, expected[reordered])), strict=True):
            assert (a is b is None) or a.strides == b.strides


def test_a_launcher_that_does_not_say_what_moves_has_no_plan() -> None:
    def kernel(x: Any, *, number: int) -> Any:
        y = launch.empty(x.shape, x.dtype)
        launch.kernel("random", "random_uniform<float>")(
            *launch.grid_1d(1), (y, np.float32(1), np.float32(0), np.float32(1), np.uint64(number), np.uint64(0), np.int64(1),
                                 np.int64(y.size)))
        return y

    entry = plans.planned(kernel, moves=("number",))
    x = cupy.zeros((4,), np.float32)
    for number in (1, 2, 1):
        _same(entry(x, number=number), kernel(x, number=number))
    assert [*inspect.getclosurevars(entry).nonlocals["plans"].values()] == [False]  # it is not tried again


def test_random_numbers_have_one_plan_for_all_offsets() -> None:
    entry, plain = _pair("random_normal")
    found = _plans_of("random_normal")
    found.clear()
    attributes: dict[str, Any] = {"shape": (9,), "dtype": np.dtype(np.float32)}
    for seed, offset in ((0, 0), (1, 5), ((1 << 64) - 1, 1 << 63), (7, (1 << 63) - 1)):
        _same(entry(**attributes, seed=seed, offset=offset), plain(**attributes, seed=seed, offset=offset))
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["float16", "int32", "float64"])
def test_other_dtypes_are_as_before(dtype: str) -> None:
    entry, plain = _pair("add")
    a = cupy.asarray((normal(8) * 4).astype(dtype))
    for _ in range(3):
        _same(entry(a, a + a), plain(a, a + a))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", sorted(name for name in CASES if not name.startswith("check_") and (name not in ROWS or ROWS[name].family)))
def test_every_operation_in_other_dtypes_is_as_before(name: str, dtype: str) -> None:
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    entry, plain = _pair(name)
    case = CASES[name]()
    arrays = [_on_gpu(array if array is None or array.dtype.kind == "i" else array.astype(kind)) for array in case.arrays]
    try:
        expected = _host(plain(*arrays, **case.attributes))
    except (TypeError, ValueError, NotImplementedError) as error:  # no kernel for it
        for _ in range(2):
            with pytest.raises(type(error)):
                entry(*arrays, **case.attributes)
        return
    for _ in range(2):
        _same_hosts(_host(entry(*arrays, **case.attributes)), expected)
    launch.forget_pending()


def test_arrays_of_two_dtypes_are_promoted_as_before() -> None:
    entry, plain = _pair("add")
    a, b = cupy.asarray(normal(8)), cupy.asarray(normal(8).astype(np.float64))
    for _ in range(2):
        _same(entry(a, b), plain(a, b))
        _same(entry(a, 2.0), plain(a, 2.0))


def test_an_operation_whose_attributes_always_differ_keeps_few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLANS", 4)
    found = _plans_of("rms_norm")
    x, weight = cupy.asarray(normal(2, 4)), cupy.asarray(normal(4))
    for number in range(12):
        gpu.TABLE["rms_norm"](x, weight, normalized_ndim=1, eps=number * 1e-3)
    assert len(found) <= 4


# ------------------------------------------------------------------------------------------------------------- errors
def test_an_index_out_of_range_is_found_by_a_plan_too() -> None:
    entry, _ = _pair("cross_entropy")
    x = cupy.asarray(normal(3, 4))
    good, bad = cupy.asarray(np.array([0, 1, 2])), cupy.asarray(np.array([0, 9, 2]))
    options: dict[str, Any] = {"reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0, "with_grad": False}
    for _ in range(2):
        entry(x, good, None, **options)
    launch.raise_pending()
    entry(x, bad, None, **options)
    with pytest.raises(IndexError, match="9"):
        launch.raise_pending()


def test_a_failed_launch_raises_and_the_next_one_works(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    threads: list[int] = []  # of a block, in the place of those that the plan has
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
    original = driver.address
    launches = kind(original("cuLaunchKernel"))
    function = kind(lambda kernel, gx, gy, gz, bx, *rest: launches(kernel, gx, gy, gz, *threads or [bx], *rest))
    address = ctypes.cast(function, ctypes.c_void_p).value
    monkeypatch.setattr(driver, "address", lambda name: address if name == "cuLaunchKernel" else original(name))
    entry = plans.planned(_pair("relu")[1])
    x = cupy.full((5,), 2, np.float32)
    entry(x), entry(x)
    threads.append(1 << 20)  # more than any GPU has
    with pytest.raises(RuntimeError):
        entry(x)
    threads.clear()
    assert (entry(x).get() == 2).all()


def test_the_place_and_the_status_of_a_failed_call_come_back() -> None:
    import ctypes

    calls: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
    function = kind(lambda *_: [0, 0, 700][calls.append(1) or len(calls) - 1])
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = launch.kernel("elementwise", "unary<float, Relu>")
    program = native.Program()
    for _ in range(4):
        program.launch(address or 0, kernel, (1,), (2, 3), 5, [0, b"\1\2\3\4"])
    program.finish()
    assert native.runner()(program.address, 0, 4096) == (2 << 32 | 700)
    assert len(calls) == 3


def test_what_a_call_passes_is_what_the_driver_gets() -> None:
    import ctypes

    got: list[Any] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p,
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)

    def launched(function: int, *rest: Any) -> int:
        *sizes, stream, parameters, extra = rest
        got.append((function, sizes, stream, extra, ctypes.c_int64.from_address(parameters[0]).value,
                    ctypes.string_at(parameters[1], 4), ctypes.c_int64.from_address(parameters[2]).value))
        return 0

    function = kind(launched)
    kernel = launch.kernel("elementwise", "unary<float, Relu>")
    program = native.Program()
    program.launch(ctypes.cast(function, ctypes.c_void_p).value or 0, kernel, (3, 4), (2,), 5, [1, b"abcd", 0])
    program.finish()
    large = (1 << 47) + 8
    assert native.runner()(program.address, 1 << 40, 4096, large) == 0
    assert got == [(kernel.kernel.ptr, [3, 4, 1, 2, 1, 1, 5], 1 << 40, None, large, b"abcd", 4096)]


def test_reloaded_kernels_forget_their_plans() -> None:
    found = _plans_of("relu")
    x = cupy.full((5,), 2, np.float32)
    gpu.TABLE["relu"](x)
    assert found
    launch.reload()
    assert not found


@pytest.mark.skipif(not driver.SIMULATED, reason="only the simulator counts what CuPy does; a GPU does not tell")
def test_a_launcher_that_hides_what_it_does_fails() -> None:
    def kernel(x: Any) -> Any:
        y = elementwise.add(x, x)
        y += 1
        return y

    with pytest.raises(AssertionError, match="unrepeatable"):
        plans.planned(kernel)(cupy.zeros((3,), np.float32))


def test_without_plans_operations_are_called_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x: Any) -> Any:
        return x

    assert plans.planned(kernel) is not kernel
    monkeypatch.setattr(plans, "ENABLED", False)
    assert plans.planned(kernel) is kernel


def test_a_plan_is_of_exact_or_of_tf32_convolutions() -> None:
    from lucid.backends import cudnn

    entry, plain = _pair("conv2d")
    x, weight = cupy.asarray(normal(1, 16, 6, 6)), cupy.asarray(normal(16, 16, 3, 3))
    attributes = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    results = []
    for allowed in (False, True):
        with cudnn.flags(allow_tf32=allowed):
            for _ in range(2):
                results.append(entry(x, weight, None, **attributes).get())
                np.testing.assert_array_equal(results[-1], plain(x, weight, None, **attributes).get())
    assert not np.array_equal(results[0], results[-1])


def _count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many plans are recorded from now on, in a list of one number."""
    recorded, first = [0], plans._first

    def counted(*args: Any) -> Any:
        recorded[0] += 1
        return first(*args)

    monkeypatch.setattr(plans, "_first", counted)
    return recorded


def test_calls_that_the_template_knows_have_the_keys_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that was recorded from the loops of `general` is found by `plan_lookup`, and the other way round."""
    plans.forget()
    entry, plain = _pair("add")
    recorded = _count(monkeypatch)
    x, y = cupy.asarray(normal(4, 6)), cupy.asarray(normal(4, 6))
    other = cupy.cuda.Stream(non_blocking=True)
    for _ in range(3):
        for given, out in (((x, y), None), ((x, x), None), ((x, y), x.copy()), ((x, x), x.copy())):
            attributes = {} if out is None else {"out": out}
            _same(entry(*given, **attributes), plain(*given))
    assert recorded == [4]
    target = x.copy()
    for rounds in range(1, 4):
        entry(target, y, out=target)  # the first operand is the result
        np.testing.assert_allclose(target.get(), (x + y * rounds).get(), rtol=1e-6)
    assert recorded == [5]
    memory = cupy.asarray(normal(40))
    for start in (1, 2, 1, 2):  # not where vectors begin
        _same(entry(memory[start:start + 24].reshape(4, 6), y), plain(memory[start:start + 24].reshape(4, 6), y))
    assert recorded == [7]
    with other:
        for _ in range(2):
            _same(entry(x, y), plain(x, y))
    assert recorded == [8]


def test_beside_other_devices_a_plan_is_one_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_several", True)
    recorded = _count(monkeypatch)
    entry = plans.planned(elementwise.add)
    x, y, out = (cupy.asarray(normal(4, 6)) for _ in range(3))
    entry(x, y), entry(x, y, out=out)
    monkeypatch.setattr(plans, "_stream", None)  # which `general` asks
    for _ in range(2):
        _same(entry(x, y), elementwise.add(x, y))
        _same(entry(x, y, out=out), elementwise.add(x, y))
    assert recorded == [2]
    found = inspect.getclosurevars(entry).nonlocals["plans"]
    assert {key[-1] for key in found} == {cupy.cuda.runtime.getDevice()}


def test_arrays_of_any_strides_are_found_by_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    plans.forget()
    entry, plain = _pair("add")
    recorded = _count(monkeypatch)
    views: list[Callable[[Any], Any]] = [lambda x: x.T, lambda x: x[::2, ::2].T, lambda x: x[::-1], lambda x: x[:, ::-1]]
    memories = [cupy.asarray(normal(6, 6)) for _ in range(3)]
    for x, y in itertools.permutations(memories, 2):
        for view in views:
            rows, out = y[:view(y).shape[0], :view(y).shape[1]].copy(), x.copy()
            _same(entry(view(x), rows), plain(view(x), rows))
            _same(entry(rows, view(x)), plain(rows, view(x)))
            entry(view(x), view(y), out=view(out))
            _same(view(out), plain(view(x), view(y)))
    assert recorded == [3 * len(views)]
    flipped = memories[0][::-1]
    _same(entry(flipped, memories[0]), plain(flipped, memories[0]))  # they are one memory, and begin at other places of it
    assert recorded == [3 * len(views) + 1]
    assert sum("backwards" in key for key in _plans_of("add")) == 3 * 2 + 1
    monkeypatch.setattr(plans, "_before", None)  # which `general` calls
    _same(entry(memories[1].T, memories[2]), memories[1].T + memories[2])


def test_results_written_where_they_are_wanted_are_found_by_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    plans.forget()
    entry, plain = _pair("batch_norm")
    recorded = _count(monkeypatch)
    x, ones = cupy.asarray(images()), cupy.ones(4, np.float32)
    for _ in range(3):
        stats = [[cupy.zeros(4, np.float32), cupy.ones(4, np.float32)] for _ in range(2)]
        for function, (mean, var) in zip((entry, plain), stats, strict=True):
            function(x, ones, ones, mean, var, None, momentum=0.5, eps=1e-5, out=(None, None, None, mean, var))
        _same(stats[0][0], stats[1][0])
        _same(stats[0][1], stats[1][1])
        mean, var = cupy.zeros(4, np.float32), cupy.ones(4, np.float32)
        new = entry(x, ones, ones, mean, var, None, momentum=0.5, eps=1e-5, out=(None, None, None, None, None))
        _same(new[3], stats[0][0])
        assert not mean.any()
    assert recorded == [2]


def test_the_sign_of_a_zero_attribute_is_in_the_key() -> None:
    plans.forget()
    entry, _ = _pair("fill")
    x = cupy.asarray(normal(8))
    for value in (0.0, -0.0, 0, False, -0.0, 0.0):
        assert np.signbit(entry(x, value=value).get()).all() == np.signbit(value)
        out = cupy.asarray(normal(8))
        entry(x, value=value, out=out)
        assert np.signbit(out.get()).all() == np.signbit(value)


def test_an_attribute_without_a_hash_has_no_plan() -> None:
    plans.forget()
    seen = []

    def kernel(x: Any, *, how: Any) -> Any:
        seen.append(how)
        return elementwise.relu(x)

    planned = plans.planned(kernel)
    x = cupy.asarray(normal(8))
    for how in ([1], {"a": 2}, [1]):
        _same(planned(x, how=how), elementwise.relu(x))
    assert seen == [[1], {"a": 2}, [1]]


def test_pointers_into_new_arrays_move_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may write a part of an array that the plan makes anew in each call."""
    plans.forget()
    recorded = _count(monkeypatch)
    assemble = gpu.TABLE["assemble"]
    held = []
    for _ in range(4):
        parts = [cupy.asarray(normal(2, 3, 5)) for _ in range(3)]
        indices = [(number, Ellipsis) for number in range(3)]
        for axes in (None, (1, 0, 2, 3)):
            result = assemble(*parts, shape=(3, 2, 3, 5), indices=indices, axes=axes)
            _same(result, cupy.stack(parts))
            held.append((result, parts))  # the next call gets other memory
        few = assemble(*parts[:2], shape=(4, 2, 3, 5), indices=[(3, Ellipsis), (1, Ellipsis)], axes=None)
        expected = np.zeros((4, 2, 3, 5), np.float32)
        expected[3], expected[1] = parts[0].get(), parts[1].get()
        np.testing.assert_array_equal(few.get(), expected)
        both = assemble(parts[0], parts[0], shape=(3, 2, 3, 5), indices=[(1, Ellipsis)] * 2, axes=None)  # sums have no plan
        np.testing.assert_array_equal(both[1].get(), 2 * parts[0].get())
    for result, parts in held:
        _same(result, cupy.stack(parts))
    assert recorded[0] <= 4


def test_what_was_recorded_is_not_kept() -> None:
    """Nor does it wait for the garbage collector."""
    plans.forget()
    entry = gpu.TABLE["assemble"]
    parts = [cupy.asarray(normal(2, 3)) for _ in range(2)]
    references = [weakref.ref(part) for part in parts]
    gc.disable()
    try:
        entry(*parts, shape=(2, 2, 3), indices=[(0, Ellipsis), (1, Ellipsis)], axes=None)
        del parts
        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()


def test_what_a_call_needs_until_it_returns_lies_in_one_array_that_others_use_next() -> None:
    def kernel(x: Any, *, times: int, count: int) -> Any:
        terms = [launch.empty((x.size,), x.dtype) for _ in range(count)]
        y = launch.empty(x.shape, x.dtype)
        for term in terms:
            elementwise.mul(x, x, out=term)
        for _ in range(times):
            for first, second in itertools.pairwise(terms):
                elementwise.add(first, second, out=second)
        return elementwise.add(terms[0], terms[-1], out=y)

    plans.forget()
    entry = plans.planned(kernel)
    x = cupy.asarray(normal(150))
    for _ in range(3):
        for times, count, wanted in ((1, 3, 4), (2, 3, 7), (1, 5, 6)):
            np.testing.assert_allclose(entry(x, times=times, count=count).get(), wanted * (x * x).get(), rtol=1e-5)
    found = [plan for plan in inspect.getclosurevars(entry).nonlocals["plans"].values() if plan]
    rings = [[take.__self__ for take in plan.pair] for plan in found]
    assert len({*itertools.chain.from_iterable(rings)}) == 3  # the results', and workspaces of two sizes
    assert rings[0] == rings[1] != rings[2]
