"""`torch.fx` in a process where `import torch` gives lucid: graphs and code by PyTorch's names."""
import copy
import math

import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, _CodeOnlyModule, _copy_attr
from torch.fx.proxy import TraceError


@torch.fx.wrap
def floor(x: torch.Tensor) -> int:
    return math.floor(x.detach().sum())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x: torch.Tensor, scale: float = 2.0):
        torch._assert(x.ndim == 4, "images")
        x = F.relu(self.conv(x), inplace=True).flatten(1).to(torch.float64)
        return torch.sigmoid(x) * scale + floor(x)


traced = fx.symbolic_trace(Model())
assert traced.code == """
torch.fx._symbolic_trace.wrap("__main___floor")

def forward(self, x : torch.Tensor, scale : float = 2.0):
    getattr_1 = x.ndim
    eq = getattr_1 == 4;  getattr_1 = None
    _assert = torch._assert(eq, 'images');  eq = _assert = None
    conv = self.conv(x);  x = None
    relu = torch.nn.functional.relu(conv, inplace = True);  conv = None
    flatten = relu.flatten(1);  relu = None
    to = flatten.to(torch.float64);  flatten = None
    sigmoid = torch.sigmoid(to)
    mul = sigmoid * scale;  sigmoid = scale = None
    floor = __main___floor(to);  to = None
    add = mul + floor;  mul = floor = None
    return add
    """, traced.code
x = torch.rand(2, 1, 4, 4)
assert torch.equal(traced(x), Model.forward(traced, x)) and torch.equal(copy.deepcopy(traced)(x), traced(x))
assert str(traced.graph).splitlines()[7] == (
    "    %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%conv,), kwargs = {inplace: True})")
with torch.no_grad():
    assert torch.equal(fx.Interpreter(traced).run(x), traced(x))
moved = fx.GraphModule(nn.Module(), fx.Graph())
_copy_attr(traced, moved, "conv.weight")
assert moved.conv.weight is traced.conv.weight and _CodeOnlyModule({"a": 1}).a == 1 and isinstance(_USER_PRESERVED_ATTRIBUTES_KEY, str)
graph = fx.Graph()
graph.output(graph.call_function(torch.zeros, ((2,),), {"device": torch.device("cpu"), "dtype": torch.bfloat16}))
assert "torch.zeros((2,), device = device(type='cpu'), dtype = torch.bfloat16)" in fx.GraphModule({}, graph).code
assert fx.GraphModule({}, graph)().dtype is torch.bfloat16 and not is_fx_tracing()
from torch.fx.passes.shape_prop import ShapeProp  # noqa: E402

assert ShapeProp(traced).propagate(x).shape == (2, 8)
sigmoid = traced.graph.find_nodes(op="call_function", target=torch.sigmoid)[0]
assert str(sigmoid.meta["tensor_meta"]) == (
    "TensorMetadata(shape=torch.Size([2, 8]), dtype=torch.float64, requires_grad=True, stride=(8, 1), "
    "memory_format=torch.contiguous_format, is_quantized=False, qparams={})")
try:
    fx.symbolic_trace(lambda x: 1 if x else 2)
except TraceError as error:
    assert "control flow" in str(error)
else:
    raise AssertionError("traced")
print("done")
