"""What names are in a process where `import torch` gives lucid."""
import copy
import importlib.metadata
import importlib.util
import pickle
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import export
from torch.nn import *  # noqa: F403
from torch.nn.modules.utils import _pair
from torch.utils._pytree import tree_map

import lucid
from lucid.torch.refused import Refused

# The version, for packages that compare it.
assert torch.__version__ == "2.13.0+lucid"
assert torch.__version__ >= (2, 4) and torch.__version__ < "3" and torch.__version__ == "2.13.0"
assert importlib.metadata.version("torch") == torch.__version__ and torch.version.cuda is None
assert importlib.util.find_spec("torch") is not None and torch.torch is torch

# lucid's own names, by PyTorch's modules.
assert torch.Tensor is lucid.Tensor and nn.Linear is lucid.nn.Linear is Linear and F.relu is lucid.nn.functional.relu  # noqa: F405
assert torch.cuda.is_available is lucid.gpu.is_available and torch.utils.data.DataLoader is lucid.data.DataLoader
assert torch.distributions.normal.Normal is lucid.distributions.Normal and torch.nn.Module is nn.modules.module.Module
assert "Adam" in torch.optim.__dict__ and "Adam" in dir(torch.optim) and "quantize_per_tensor" not in dir(torch)
assert _pair(3) == (3, 3) and tree_map(lambda x: x + 1, [1, (2,)]) == [2, (3,)]
assert str(nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>" and torch.typename(nn.ReLU()) == "torch.nn.modules.activation.ReLU"

# What only lucid has is not there.
for name in ("einops", "fuse", "levels"):
    assert not hasattr(torch, name), name

# Inert names.
assert torch.jit.script(len) is len and not torch.jit.is_scripting() and not torch.compiler.is_compiling()


@torch.jit.ignore
def plain(x: "torch.jit.annotations.BroadcastingList2[int]") -> "torch.SymInt":
    return x


@torch.compiler.disable(recursive=False)
def also_plain(x):
    return x


assert plain(1) == also_plain(1) == 1 and not isinstance(plain, torch.jit.ScriptModule)
with torch.profiler.record_function("step"):
    pass

from torch.hub import HASH_REGEX  # noqa: E402
from torch.multiprocessing import get_context  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

assert HASH_REGEX.search("a-12ab.pth") and get_context("spawn").get_start_method() == "spawn"
assert not torch.backends.mps.is_available() and torch.compiler.disable(len)([1]) == 1
with FlopCounterMode(display=False) as counter:
    torch.ones(2, 3) @ torch.ones(3, 4)
assert counter.get_total_flops() == 48
torch._check(True)
torch.backends.cudnn.benchmark = True
assert torch.backends.cudnn.benchmark

# Refused names: written out they are there, and raise when they are used; asked for by `hasattr` they are not.
assert not hasattr(torch, "choose_qparams_optimized") and getattr(torch, "choose_qparams_optimized", None) is None
refused = torch.choose_qparams_optimized


class Program(torch.export.ExportedProgram):
    pass


for use in (lambda: export(nn.Linear(1, 1), ()), lambda: refused(torch.eye(3)), Program, lambda: torch.jit.load("x")):
    try:
        use()
    except Refused as error:
        assert "names.py:" in str(error), error
    else:
        raise AssertionError(use)
assert isinstance(Refused("x"), NotImplementedError) and not isinstance(1, torch.export.ExportedProgram)

# Absent names.
try:
    from torch.nn.functional import grouped_mm
except ImportError:
    pass
else:
    raise AssertionError(grouped_mm)
try:
    torch.nonsense  # noqa: B018
except AttributeError as error:
    assert "PyTorch 2.13 has no torch.nonsense" in str(error)
assert "torch._no_such_module" not in sys.modules

# Types.
assert repr(torch.Size([2, 3])) == "torch.Size([2, 3])" and isinstance(torch.float32, torch.dtype)
assert torch.ones(2).type() == "torch.FloatTensor" and torch.ones(2).type("torch.DoubleTensor").dtype == torch.float64
assert repr(torch.ones(2)) == "tensor([1., 1.])" and repr(torch.channels_last) == "torch.channels_last"
assert torch.backends.cudnn.allow_tf32 is True
torch.backends.cudnn.allow_tf32 = False
assert lucid.backends.cudnn.allow_tf32 is False
torch.backends.cudnn.benchmark = torch.backends.cudnn.deterministic = True
assert torch.autograd.Variable(torch.ones(2), requires_grad=True).requires_grad
torch._assert(True, "fine")
assert torch.jit.isinstance([1, 2], list[int]) and not torch.jit.isinstance({"a": 1}, dict[str, str])
assert torch.jit.isinstance((1, "a"), tuple[int, str]) and torch.jit.annotate(int, 3) == 3 and torch.jit.isinstance(None, int | None)
assert torch.finfo(torch.float8_e4m3fn).max == 448 and torch.finfo().bits == 32 and torch.ones(1).dtype != torch.float8_e4m3fn

# dtypes.
x = torch.ones(2)
assert str(x.dtype) == repr(torch.float) == "torch.float32" and x.dtype is torch.float32 and x.dtype.is_floating_point
assert x.dtype == np.dtype("float32") and np.zeros(2, x.dtype).dtype == x.dtype and {torch.float32: 1}[x.to(torch.float64).float().dtype]
assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16 is copy.deepcopy(torch.bfloat16) and torch.bfloat16.is_signed
assert torch.promote_types(torch.int8, torch.half) is torch.float16 and torch.get_default_dtype() is torch.float32
assert torch.result_type(x, 1j) is torch.complex64 is torch.float32.to_complex() and torch.complex64.to_real() is torch.float32
assert nn.Linear(1, 1, dtype=torch.float64).to(torch.bfloat16).weight.dtype is torch.bfloat16
eighths = torch.tensor([1.0, 1000.0]).to(torch.float8_e4m3fn)
assert eighths.dtype is torch.float8_e4m3fn and eighths.float().tolist() == [1, 448] and torch.zeros(1, dtype=torch.uint16).dtype.itemsize == 2

# The bytes of a file, as readers of safetensors ask for them.
with tempfile.TemporaryDirectory() as folder:
    np.arange(8, dtype=np.uint8).tofile(f"{folder}/bytes")
    storage = torch.UntypedStorage.from_file(f"{folder}/bytes", False, 8)
    assert torch.asarray(storage[2:4], dtype=torch.uint8).tolist() == [2, 3] and len(storage) == storage.nbytes() == 8
    assert isinstance(x.untyped_storage(), torch.UntypedStorage) and isinstance(storage.untyped(), torch.storage.UntypedStorage)
assert torch.get_autocast_dtype("cuda") is torch.float16 and torch.get_autocast_cpu_dtype() is torch.bfloat16
print("done")
