"""Small namespaces of PyTorch: devices by general names, futures, what compilers are told, versions, switches."""
from __future__ import annotations

import contextlib
import pathlib
import re
import threading
import warnings
from typing import Any, NamedTuple

import pytest

import lucid
from lucid import nn
from lucid.utils import _pytree, checkpoint

needs_gpu = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


@needs_gpu
def test_accelerator() -> None:
    accelerator = lucid.accelerator
    assert accelerator.is_available() and accelerator.current_accelerator() == "gpu:0"
    assert accelerator.device_count() == lucid.gpu.device_count() and accelerator.current_device_index() == 0
    with accelerator.device_index(0), accelerator.device_index(None):
        x = lucid.ones(3, device=accelerator.current_accelerator())
    accelerator.synchronize()
    assert accelerator.memory_allocated() == lucid.gpu.memory_allocated() >= x.nbytes
    assert accelerator.memory_stats()["allocated_bytes.all.peak"] == accelerator.max_memory_allocated()
    accelerator.set_stream(accelerator.current_stream())
    assert lucid.bfloat16 in accelerator.get_device_capability()["supported_dtypes"]


def test_accelerator_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucid.backends, "available", lambda: False)
    assert not lucid.accelerator.is_available() and lucid.accelerator.current_accelerator() is None
    assert lucid.version.cuda is None and lucid.get_device_module() is lucid.cpu
    for needs in (lucid.accelerator.synchronize, lucid.accelerator.memory_allocated, lucid.accelerator.current_device_index):
        with pytest.raises(RuntimeError, match="when none is available"):
            needs()


def test_cpu() -> None:
    cpu = lucid.cpu
    assert cpu.is_available() and cpu.device_count() == 1 and cpu.current_device() == "cpu" and lucid.get_device_module("cpu") is cpu
    with cpu.stream(cpu.current_stream()):
        event = cpu.current_stream().record_event()
    event.synchronize()
    assert event.query() and cpu.get_capabilities()["num_logical_cores"] >= 1
    with pytest.warns(FutureWarning), cpu.amp.autocast():
        assert lucid.mm(lucid.ones(2, 2), lucid.ones(2, 2)).dtype == lucid.bfloat16


def test_futures() -> None:
    first, second = lucid.futures.Future(), lucid.Future()
    later = first.then(lambda done: done.wait() + 1)
    together = lucid.futures.collect_all([first, second])
    seen: list[int] = []
    first.add_done_callback(lambda done: seen.append(done.value()))
    assert not first.done() and not together.done()
    with pytest.raises(RuntimeError, match="not done"):
        first.value()
    thread = threading.Thread(target=lambda: (first.set_result(2), second.set_result(5)))
    thread.start()
    assert later.wait() == 3 and lucid.futures.wait_all([first, second]) == [2, 5]
    thread.join()
    assert [each.value() for each in together.wait()] == [2, 5] and seen == [2]
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        first.set_result(3)
    failed = lucid.Future()
    after = failed.then(lambda done: done.wait())
    failed.set_exception(ValueError("no"))
    for future in (failed, after, lucid.futures.collect_all([first, failed])):
        with pytest.raises(ValueError, match="no"):
            future.wait()
    with pytest.raises(AssertionError):
        lucid.Future().set_exception("no")  # type: ignore[arg-type]


def test_what_is_disabled_is_not_replayed() -> None:
    calls: list[int] = []

    @lucid.compiler.disable
    def count(x: Any) -> Any:
        calls.append(1)
        return x * 2

    @lucid.compile
    def step(x: Any) -> Any:
        return count(x) + 1

    x = lucid.arange(4.0)
    with warnings.catch_warnings(action="ignore"):
        for number in range(4):
            assert lucid.equal(step(x), 2 * x + 1) and len(calls) == number + 1
    with pytest.raises(lucid.compiler.GraphBreak, match="disabled by compiler.disable"):
        for _ in range(3):
            lucid.compile(count, fullgraph=True)(x)
    assert lucid.compiler.disable(reason="because")(len)([1]) == 1

    @lucid.compiler.disable
    class Call:
        def __call__(self) -> int:
            return 3

    assert Call()() == 3
    layer = lucid.compiler.disable(nn.Linear(2, 3))
    assert isinstance(layer, nn.Linear) and layer(lucid.ones(1, 2)).shape == (1, 3)
    for same in (lucid.compiler.allow_in_graph, lucid.compiler.assume_constant_result, lucid.compiler.nested_compile_region,
                 lucid.compiler.nested_compile_region(), lucid.compiler.substitute_in_graph(len)):
        assert same(count) is count
    assert not lucid.compiler.is_exporting() and not lucid.compiler.is_dynamo_compiling()


def test_versions_and_types_of_nothing() -> None:
    assert lucid.version.__version__ == lucid.__version__ and lucid.version.hip is None and not lucid.version.debug
    if lucid.gpu.is_available():
        assert re.fullmatch(r"\d+\.\d+", lucid.version.cuda)
    for kind in (lucid.SymInt, lucid.SymFloat, lucid.SymBool):
        assert not isinstance(3, kind)
        with pytest.raises(TypeError, match=kind.__name__):
            kind(3)
    assert lucid.is_storage(lucid.ones(2).untyped_storage()) and not lucid.is_storage(3)
    assert isinstance(lucid.ones(2).untyped_storage(), lucid.UntypedStorage)


def test_switches_of_attention() -> None:
    cuda = lucid.backends.cuda
    try:
        cuda.enable_flash_sdp(False)
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled() and cuda.cudnn_sdp_enabled()
    finally:
        cuda.enable_flash_sdp(True)
    with pytest.warns(FutureWarning), cuda.sdp_kernel(enable_flash=True, enable_math=False, enable_mem_efficient=False):
        assert cuda.flash_sdp_enabled() and not cuda.math_sdp_enabled() and not cuda.mem_efficient_sdp_enabled()
    with pytest.raises(RuntimeError, match="bool"):
        cuda.enable_math_sdp(1)
    cuda.matmul.allow_bf16_reduced_precision_reduction = True
    with pytest.raises(AttributeError):
        cuda.matmul.allow_tf23 = True
    assert not lucid.backends.mps.is_available() and not lucid.backends.mps.is_built()


def test_switches_of_cudnn() -> None:
    cudnn = lucid.backends.cudnn
    before = cudnn.allow_tf32
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=not before):
        assert cudnn.benchmark and cudnn.deterministic and cudnn.enabled and cudnn.allow_tf32 != before
        with cudnn.flags():
            assert not (cudnn.benchmark or cudnn.deterministic or cudnn.enabled)
        assert cudnn.benchmark and cudnn.enabled
    assert not cudnn.benchmark and not cudnn.deterministic and cudnn.allow_tf32 == before
    assert cudnn.version() is None and not cudnn.is_available() and not cudnn.is_acceptable(lucid.ones(1))


def test_the_list_of_globals() -> None:
    serialization = lucid.serialization
    serialization.add_safe_globals([set])
    with serialization.safe_globals([frozenset, set]):
        assert serialization.get_safe_globals() == [set, frozenset]
    assert serialization.get_safe_globals() == [set]
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_code_of_models_from_a_folder(tmp_path: pathlib.Path) -> None:
    (tmp_path / "helper.py").write_text("factor = 3\n")
    (tmp_path / "hubconf.py").write_text("dependencies = ['math']\nfrom helper import factor\ndef times(x):\n"
                                         "    'Times.'\n    return factor * x\ndef _hidden(): pass\n")
    hub = lucid.hub
    assert hub.list(tmp_path, source="local") == ["times"] and hub.help(tmp_path, "times", source="local") == "Times."
    assert hub.load(tmp_path, "times", 2, source="local") == 6
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(tmp_path, "other", source="local")
    with pytest.raises(OSError, match="downloads nothing"):
        hub.load("owner/name", "times")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(tmp_path, "times", source="else")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.list(tmp_path, source="local")
    assert hub.HASH_REGEX.search("resnet18-f37072fd.pth")[1] == "f37072fd"
    assert hub._get_torch_home() == str(pathlib.Path(hub.get_dir()).parent)


class Point(NamedTuple):
    x: Any
    y: Any


def test_trees() -> None:
    tree = {"a": [1, 2], "b": (3, {"c": 4})}
    spec = _pytree.tree_structure(tree)
    assert _pytree.treespec_loads(_pytree.treespec_dumps(spec)) == spec
    assert _pytree.treespec_pprint(spec) == "{'a': [*, *], 'b': (*, {'c': *})}"
    with pytest.raises(NotImplementedError, match="serialization name"):
        _pytree.treespec_dumps(_pytree.tree_structure(Point(1, 2)))
    for path, leaf in _pytree.tree_leaves_with_path({**tree, "p": Point(5, 6)}):
        assert _pytree.key_get({**tree, "p": Point(5, 6)}, path) == leaf
    node = _pytree.SUPPORTED_NODES[dict]
    children, context = node.flatten_fn(tree)
    assert node.unflatten_fn(children, context) == tree and node.flatten_with_keys_fn({"a": 1}) == ([(_pytree.MappingKey("a"), 1)], ["a"])
    assert _pytree._dict_unflatten(*_pytree._dict_flatten(tree)) == tree and set not in _pytree.SUPPORTED_NODES
    assert _pytree.is_namedtuple_class(Point) and not _pytree.is_namedtuple_instance(Point)
    assert _pytree.is_namedtuple_instance(Point(1, 2))
    state = pathlib.Path(__file__).stat()
    assert _pytree.is_structseq(state) and _pytree.is_structseq_class(type(state)) and not _pytree.is_structseq(Point(1, 2))


def test_trees_are_written_as_in_pytorch() -> None:
    theirs = pytest.importorskip("torch").utils._pytree
    tree = {"a": [1, 2], "b": (3, {"c": 4})}
    assert _pytree.treespec_dumps(_pytree.tree_structure(tree)) == theirs.treespec_dumps(theirs.tree_structure(tree))
    assert _pytree.treespec_pprint(_pytree.tree_structure(tree)) == theirs.treespec_pprint(theirs.tree_structure(tree))


def test_states_of_devices(device: str) -> None:
    x = lucid.ones(1, device=device, requires_grad=True) * 2
    numbers, states = checkpoint.get_device_states(x, [x, 3], lucid.ones(1))
    assert numbers == ([0, 0] if device == "gpu" else [])
    a = lucid.rand(2, device=device)
    checkpoint.set_device_states(numbers, states)
    assert lucid.equal(lucid.rand(2, device=device), a) == (device == "gpu")
    detached, other = checkpoint.detach_variable((x, 3))
    assert detached.is_leaf and detached.requires_grad and other == 3
    with pytest.raises(RuntimeError, match="tuple"):
        checkpoint.detach_variable([x])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint.check_backward_validity([lucid.ones(1)])


@needs_gpu
def test_parts_for_devices() -> None:
    x = lucid.arange(4.0, requires_grad=True)
    (part,) = nn.parallel.scatter(x, [0])
    assert part.device == "gpu:0"
    nn.parallel.gather([part, part * 2], "cpu").sum().backward()
    assert x.grad.tolist() == [3.0] * 4
    parts = nn.parallel.scatter({"x": x, "p": Point(x, "name"), "l": [x], "t": (x, 1)}, ["cuda:0"])
    assert parts[0]["p"].y == "name" and parts[0]["l"][0].device == "gpu:0" and parts[0]["t"][1] == 1
    ones = [{"x": lucid.ones(2, device="gpu"), "p": Point(part, [part]), "n": None}] * 2
    together = nn.parallel.gather(ones, -1)
    assert together["x"].tolist() == [1.0] * 4 and together["n"] is None
    assert together["p"].x.device == "cpu" and together["p"].y[0].shape == (8,)
    assert nn.parallel.scatter_gather.scatter_kwargs((), {"x": x}, [0])[0] == ((),)
    with pytest.warns(UserWarning, match="scalars"):
        assert nn.parallel.gather([x.sum(), x.sum()], "cpu").shape == (2,)
    with pytest.raises(ValueError, match="same number of keys"):
        nn.parallel.gather([{"a": x}, {}], "cpu")


def test_helpers_of_layers() -> None:
    from lucid.nn.modules.conv import LazyConv2d
    from lucid.nn.modules.linear import LazyLinear
    from lucid.nn.modules.utils import consume_prefix_in_state_dict_if_present

    assert LazyLinear is nn.LazyLinear and LazyConv2d is nn.LazyConv2d
    state = nn.DataParallel(nn.Sequential(nn.Linear(2, 3))).state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    model = nn.Sequential(nn.Linear(2, 3))
    model.load_state_dict(state)
    assert sorted(key for key in state._metadata if not key.startswith("module")) == ["", "0"]
    for layer, convert, order in (
            (nn.Conv2d(2, 3, 3), nn.utils.convert_conv2d_weight_memory_format, lucid.channels_last),
            (nn.ConvTranspose3d(2, 3, 3), nn.utils.convert_conv3d_weight_memory_format, lucid.channels_last_3d)):
        before = layer.weight.detach().clone()
        assert convert(nn.Sequential(layer), order)[0] is layer and layer.weight.is_contiguous(memory_format=order)
        assert lucid.equal(layer.weight, before)


def test_inside_of_an_export() -> None:
    pytest.importorskip("onnx")
    seen = []

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append(lucid.onnx.is_in_onnx_export())
            return x * 2

    lucid.onnx.export(Model(), lucid.ones(2))
    assert seen and all(seen) and not lucid.onnx.is_in_onnx_export()


def test_contexts_end_after_errors() -> None:
    with contextlib.suppress(ZeroDivisionError), lucid.serialization.safe_globals([set]):
        raise ZeroDivisionError
    assert lucid.serialization.get_safe_globals() == []


def test_additions_and_multiplications_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    def total(t: Any, counter: Any) -> int:
        with counter(display=False) as counted:
            x = t.ones(3, 4, 5).requires_grad_()
            y = t.nn.Linear(5, 6)(t.bmm(x, t.ones(3, 5, 5)))
            t.nn.functional.conv1d(y, t.ones(2, 4, 3), groups=1).sum().backward()
        return int(counted.get_total_flops())

    assert total(lucid, lucid.utils.flop_counter.FlopCounterMode) == total(torch, FlopCounterMode)


def test_keys_that_are_not_kept_alive() -> None:
    weak = lucid.utils.weak
    x, y = lucid.ones(2), lucid.ones(2)
    found = weak.WeakTensorKeyDictionary({x: 1})
    found[y] = 2
    assert found[x] == 1 and found.get(lucid.ones(2)) is None and 3 not in found and len(found) == 2
    assert found.copy() == found and (found | {x: 5})[x] == 5 and found.pop(y) == 2 and list(found) == [x]
    reference = weak.TensorWeakRef(x)
    assert reference() is x and weak.WeakIdRef(x) == weak.WeakIdRef(x) != weak.WeakIdRef(y)
    del x
    assert reference() is None and len(found) == 0
    with pytest.raises(KeyError):
        found[y]
