"""What `torch.save` and `torch.load` do with more than tensors."""
import argparse
import io
import pathlib
import pickle
import tempfile

import numpy as np
import torch
from torch import nn

folder = pathlib.Path(tempfile.mkdtemp())


def again(obj, **options):
    torch.save(obj, folder / "x.pt")
    return torch.load(folder / "x.pt", **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.head.weight
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        return self.tied(self.head(self.body(x).mean((2, 3)))) * self.scale


# Whole modules, where the program says that it trusts the file.
net, x = Net(), torch.randn(2, 3, 8, 8)
net(x)
wanted = net.eval()(x)
net.body[0].weight.grad = torch.ones_like(net.body[0].weight)
for refused in (dict(), dict(weights_only=True)):
    try:
        again(net, **refused)
    except RuntimeError as error:
        assert "__main__.Net" in str(error) and "weights_only=False" in error.__notes__[0], error
    else:
        raise AssertionError("a class was read")
found = again(net, weights_only=False)
assert type(found) is Net and not found.training and torch.equal(found(x), wanted)
assert found.tied.weight is found.head.weight and type(found.head.weight) is nn.Parameter
assert found.body[0].weight.grad is None and list(found.state_dict()) == list(net.state_dict())
found.train()(x).sum().backward()
assert found.body[0].weight.grad is not None

# Arrays, options and memory that tensors share.
memory = torch.arange(6.)
both = again({"args": argparse.Namespace(lr=0.1, dtype=torch.bfloat16), "array": np.arange(3), "a": memory[:3], "b": memory[2:],
              "path": folder, "meta": torch.ones(2, 3, device="meta"), "t": memory.view(2, 3).t()}, weights_only=False)
assert both["args"].lr == 0.1 and both["args"].dtype is torch.bfloat16 and both["array"].tolist() == [0, 1, 2]
both["a"][2] = 7.0
assert both["b"].tolist() == [7.0, 3.0, 4.0, 5.0] and both["path"] == folder and both["meta"].device.type == "meta"
assert both["t"].shape == (3, 2) and both["t"].stride() == (1, 3) and both["t"].tolist() == [[0.0, 3.0], [1.0, 4.0], [7.0, 5.0]]

# Only what is named.
state = {"array": np.arange(3.0), "args": argparse.Namespace(a=1)}
names = [argparse.Namespace, np.ndarray, np.dtype, type(np.dtype(float)), np.arange(2).__reduce__()[0], np.float64]
with torch.serialization.safe_globals([*names, __import__("_codecs").encode]):
    found = again(state)
assert found["array"].tolist() == [0.0, 1.0, 2.0] and found["args"].a == 1 and not torch.serialization.get_safe_globals()


class Evil:
    def __reduce__(self):
        return print, ("ran",)


torch.serialization.add_safe_globals([Net])
try:
    again([Evil()])
except RuntimeError as error:
    assert "print" in str(error), error
else:
    raise AssertionError("a function was called")
torch.serialization.clear_safe_globals()

# A subclass of Tensor, a file in memory, another pickle.
class Named(torch.Tensor):
    pass


named = torch.ones(2).as_subclass(Named)
named.name = "n"
file = io.BytesIO()
torch.save(named, file)
file.seek(0)
found = torch.load(file, weights_only=False)
assert type(found) is Named and found.name == "n" and found.tolist() == [1.0, 1.0]
assert pickle.loads(pickle.dumps(torch.float32)) is torch.float32 and repr(torch.dtype) == "<class 'torch.dtype'>"
print("done")
