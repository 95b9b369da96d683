"""What is written here on top of lucid, where PyTorch has a name and lucid has none, or another meaning for it.

A module serves the names in its `__all__` for one module of PyTorch. They are imported with the first name that is asked for.

`root`: `torch` itself.
`files`: `torch.save` and `torch.load`, whose files are PyTorch's by default.
`internals`: `torch._C` and other private modules.
`version`: `torch.version`.
`storage`: `torch.UntypedStorage`.
`backends`: the switches of PyTorch's backends.
`library`: `torch.library`: operators that programs define.
`operators`: `torch.ops`, where they are found.
`vision`: the operators that torchvision has in C++.
`hub`: `torch.hub`.
`jit`: what programs for `torch.jit` call when they run as Python.
`optimizer`: what optimizers of other libraries take from `torch.optim.optimizer`.
`modules`: helpers of `torch.nn.modules` that libraries import.
`autograd`: `torch.autograd.Variable`.
"""
from __future__ import annotations


def _table(text: str) -> dict[str, str]:
    return dict(line.split() for line in text.strip().splitlines())


#: The adapter of a module of PyTorch.
ADAPTERS = _table("""
torch root
torch._C internals
torch._utils internals
torch._custom_ops library
torch.autograd.variable autograd
torch.hub hub
torch.jit jit
torch.library library
torch.nn.modules.utils modules
torch.optim.optimizer optimizer
torch.storage storage
torch.version version
""")
#: Single names: where they are.
OBJECTS = _table("""
torch.TypedStorage storage:TypedStorage
torch.UntypedStorage storage:UntypedStorage
torch.load files:load
torch.save files:save
torch.amp.autocast_mode.autocast root:_autocast
torch.autograd.Variable autograd:Variable
torch.backends.cpu.get_cpu_capability backends:get_cpu_capability
torch.nn.modules.module._IncompatibleKeys modules:_IncompatibleKeys
torch.nn.modules.module._addindent modules:_addindent
torch.onnx.operators.shape_as_tensor root:_shape_as_tensor
torch.serialization.DEFAULT_PROTOCOL internals:DEFAULT_PROTOCOL
torch.serialization.load files:load
torch.serialization.save files:save
torch.torch_version.TorchVersion version:TorchVersion
torch.types._Number internals:_Number
torch.utils.model_zoo.tqdm hub:tqdm
""")
#: Objects that are modules.
MODULES = _table("""
torch.torch root:_torch
torch.ops operators:ops
torch.backends.cudnn backends:cudnn
torch.backends.cuda backends:cuda
torch.backends.mkldnn backends:mkldnn
torch.__config__ backends:config
torch.onnx.symbolic_opset11 backends:symbolic_opset11
""")
