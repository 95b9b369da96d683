"""Modules with buffers, as PyTorch's: an assigned tensor stands in the slot as it is, and keeps its graph."""
import pickle
import warnings

import torch
from torch import nn


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("steps", torch.tensor(0), persistent=False)

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean()
        self.steps += 1
        return x - self.mean


model = Statistics()
first = model.mean
x = torch.full((4, 3), 2.0, requires_grad=True)
y = model(x)
assert type(first) is torch.Tensor and first.item() == 0 and model.mean is not first
assert model.mean.requires_grad and model.mean.grad_fn is not None
y.sum().backward()
assert torch.allclose(x.grad, torch.full((4, 3), 0.9))
assert model.steps == 1 and list(model.state_dict()) == ["mean"] and not model.state_dict()["mean"].requires_grad
assert repr(model) == "Statistics()"
given = torch.ones(1)
model.mean = given
assert model.mean is given and dict(model.named_buffers())["mean"] is given
model.mean = None
assert "mean" not in model.state_dict()
model.mean = torch.ones(1)
model.load_state_dict({"mean": torch.full((1,), 3.0)})
assert model.mean.item() == 3
half = model.half()
assert half.mean.dtype == torch.float16 and half.steps.dtype == torch.int64
again = pickle.loads(pickle.dumps(model))
assert type(again) is Statistics and again.mean.item() == 3


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.table = torch.ones(2, 2)
        self.register_buffer("moves", torch.ones(2, 2))


model = Plain()
assert list(model.state_dict()) == ["moves", "linear.weight", "linear.bias"]
assert repr(next(model.parameters())).startswith("Parameter containing:\ntensor([[")
if torch.cuda.is_available():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.to("cuda")
    device = model.moves.device
    assert model.moves.is_cuda and not model.table.is_cuda and device.type == "cuda" and str(device) == "cuda:0"
    assert repr(device) == "device(type='cuda', index=0)" and device == torch.device("cuda") and {device.type: 1} == {"cuda": 1}
    assert repr(model.moves).endswith("device='cuda:0')") and model.moves.type() == "torch.cuda.FloatTensor"
    out = model.linear(torch.ones(1, 2, device=device) @ model.moves)
    out.sum().backward()
    assert model.linear.weight.grad.device == device and isinstance(out, torch.cuda.FloatTensor)
    assert pickle.loads(pickle.dumps(torch.device("cuda"))) == device
    with torch.autocast(device.type, dtype=torch.float16):
        assert model.linear(model.moves).dtype is (model.moves @ model.moves).dtype is torch.float16
norm = nn.BatchNorm1d(3)
norm(torch.randn(4, 3))
assert norm.num_batches_tracked == 1 and type(norm(torch.randn(4, 3))) is torch.Tensor
print("done")
