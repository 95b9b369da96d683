"""`uninstall` gives lucid and `import torch` back, and `install` is refused where the real PyTorch is imported."""
import multiprocessing.util
import sys
import types

import torch

import lucid
import lucid.torch

assert torch.ones(1).device.type == "cpu" and lucid.torch.installed() and lucid.torch.install() is torch
lucid.torch.uninstall()
assert not lucid.torch.installed() and not [name for name in sys.modules if name.split(".")[0] == "torch"]
assert repr(lucid.ones(2)) == "Tensor([1.0, 1.0], requires_grad=False)" and lucid.nn.Linear.__module__ == "lucid.nn.modules.linear"
assert str(lucid.ones(1).dtype) == "float32" and repr(lucid.Size([1])) == "lucid.Size([1])" and lucid.device.__name__ == "Device"
assert multiprocessing.util.spawnv_passfds.__module__ == "multiprocessing.util"
module = lucid.nn.BatchNorm1d(2)
module.mean = lucid.nn.Buffer(lucid.zeros(2))
same = module.mean
module.mean = lucid.ones(2)
assert module.mean is same and "Buffer" in repr(module)
sys.modules["torch"] = types.ModuleType("torch")
try:
    lucid.torch.install()
except RuntimeError as error:
    assert "must come before" in str(error)
else:
    raise AssertionError
assert not lucid.torch.installed() and repr(lucid.Size([1])) == "lucid.Size([1])"
print("done")
