"""Writes the names of PyTorch that `lucid.torch` knows: ``python -m tests.parity.torch_names``.

A line is a module, a kind and names of that kind: `here` for classes that the module defines, `class` for others,
`function`, `value`.
"""
from __future__ import annotations

import importlib
import multiprocessing
import pathlib
import pkgutil
import types
import typing
import warnings
from typing import Any

PAGE = pathlib.Path(__file__).parents[2] / "lucid" / "torch" / "names.txt"
#: What is PyTorch's own inside, beside every module with an underscore: nothing outside of it asks for these.
SKIPPED = """ao.ns ao.pruning ao.quantization. ao.nn contrib distributed. export. fx.experimental. fx.passes headeronly jit.
    masked. multiprocessing. nativert nested. nn.backends nn.intrinsic nn.qat nn.quantizable nn.quantized. numa onnx. package.
    profiler. quantization. utils.backcompat utils.benchmark. utils.bottleneck utils.bundled utils.data.datapipes
    utils.hipify utils.jit utils.model_dump utils.serialization utils.tensorboard utils.viz utils.cpp_extension utils.flop
    utils.module_tracker xpu. mtia. mps.""".split()
KEPT = """_C _VF _custom_ops __config__ _utils _tensor _tensor_str _jit_internal _compile _dynamo _dynamo.eval_frame _dynamo.utils _dynamo.config
    _dynamo.external_utils _dynamo._trace_wrapped_higher_order_op _subclasses _subclasses.fake_tensor _functorch
    _functorch.apis distributed._composable.fsdp distributed._tensor distributed._tensor.experimental return_types
    _higher_order_ops _higher_order_ops.associative_scan _inductor _inductor.config distributed.nn distributed.nn.functional
    distributed.fsdp distributed.tensor distributed.tensor.parallel distributed.device_mesh distributed.rpc distributed.optim distributed.algorithms
    distributed.algorithms.join distributed.checkpoint distributed.checkpoint.state_dict distributed.distributed_c10d
    fx.experimental.proxy_tensor fx.experimental.symbolic_shapes jit._script jit._trace jit.annotations
    multiprocessing.reductions multiprocessing.spawn nn.parallel._functions onnx.operators onnx.symbolic_helper onnx.symbolic_opset11
    optim._functional optim._multi_tensor utils._pytree utils._python_dispatch utils._foreach_utils utils._contextlib utils.cpp_extension
    utils._device utils.flop_counter utils.tensorboard utils.data._utils utils.data._utils.collate
    package nn.quantized profiler.profiler""".split()
#: Where names with an underscore count too: programs ask for them.
PRIVATE = ("torch", "torch._tensor", "torch._tensor_str", "torch._utils", "torch.nn", "torch.optim", "torch.autograd", "torch.utils.data",
           "torch.utils._pytree", "torch.distributions", "torch.overrides", "torch.types", "torch.hub", "torch.linalg", "torch.cuda",
           "torch.utils._contextlib", "torch.utils._foreach_utils")


def _modules() -> set[str]:
    import torch

    found = {f"torch.{name}" for name in KEPT} | {"torch", "torch._C"}
    for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if "._" not in module.name and not module.name.removeprefix("torch.").startswith(tuple(SKIPPED)):
            found.add(module.name)
    return found


def _counts(module: str, name: str) -> bool:
    private = any(module == each or (each != "torch" and module.startswith(f"{each}.")) for each in PRIVATE)
    return not name.startswith("_") or f"{module}.{name}" == "torch._C._disabled_torch_function_impl" or (private and not name.startswith("__"))


def _kind(module: str, value: Any) -> str:
    if isinstance(value, type):
        return "here" if value.__module__ == module else "class"
    return "function" if callable(value) else "value"


def _is_own(name: str, value: Any) -> bool:
    """Whether `value` is PyTorch's, and not something that a module of it imports."""
    origin = getattr(value, "__module__", None)
    if isinstance(value, types.ModuleType):
        return False
    if origin == "typing" or isinstance(value, types.UnionType):
        return not hasattr(typing, name)
    return not isinstance(origin, str) or origin.split(".")[0] in ("torch", "builtins", "functorch")


def _is_passed_on(module: str, name: str) -> bool:
    """Whether a module has the name from one of Python's whose place it takes."""
    return module == "torch.multiprocessing" and name in multiprocessing.__all__


def text() -> str:
    """The file, as it should be."""
    lines = []
    for name in sorted(_modules()):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = importlib.import_module(name)
        except (ImportError, RuntimeError, AssertionError, OSError):
            continue
        kinds: dict[str, list[str]] = {}
        for each in sorted(set(dir(module))):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value = getattr(module, each)
            except Exception:  # of deprecated names, in several classes
                continue
            if _counts(name, each) and (_is_own(each, value) or _is_passed_on(name, each)):
                kinds.setdefault(_kind(name, value), []).append(each)
        lines += [f"{name} {kind} {' '.join(names)}" for kind, names in sorted(kinds.items())] or [f"{name} value"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
