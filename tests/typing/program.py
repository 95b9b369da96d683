"""A program as users write them. mypy and pyright report nothing: not what is right, and what is wrong only because they report
a line that says ``type: ignore`` and does not need it.
"""
from collections.abc import Iterator
from typing import Any

import numpy as np

import lucid
import lucid.nn.functional as F
from lucid import Tensor, nn
from lucid.data import DataLoader, TensorDataset

x = lucid.randn(3, 4, requires_grad=True)
y: Tensor = x.relu().sum(dim=1) + 2 * x.mean(axis=1) - x[:, 0] @ lucid.ones(3, 3)
values, indices = x.max(dim=1)
out = lucid.add(x, x, out=lucid.empty(3, 4))
lucid.sum(x, axis=0, keepdims=True)
shape: tuple[int, ...] = x.shape
array: np.ndarray = x.detach().numpy()
half = x.to(lucid.float16)
loss = F.cross_entropy(x, lucid.zeros(3, dtype=lucid.int64))
loss.backward()
if (x > 0).any():
    print(x.dtype, x.device, x.grad, f"{loss.item():.2f}")


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.mean = nn.Buffer(lucid.zeros(width))
        self.scale = nn.Parameter(lucid.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.linear(x - self.mean)
        return hidden * self.scale


class Square(lucid.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = 2 * x * g
        return result


net = Net(4)
optimizer = lucid.optim.Adam(net.parameters(), lr=1e-3)
scheduler = lucid.optim.lr_scheduler.StepLR(optimizer, 10)


@lucid.compile
def step(x: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss: Tensor = net(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


for (batch,) in DataLoader(TensorDataset(lucid.randn(8, 4)), batch_size=2):
    step(batch)
    Square.apply(batch)
scheduler.step()
with lucid.no_grad(), lucid.autocast("cpu", dtype=lucid.bfloat16):
    normal = lucid.distributions.Normal(0.0, 1.0)
    print(normal.sample((3,)), lucid.linalg.inv(lucid.eye(3)), lucid.fft.fft(x), lucid.special.erf(x))
lucid.save(net.state_dict(), "net.safetensors")
net.load_state_dict(lucid.load("net.safetensors"))
rows: Iterator[Tensor] = iter(x)
grads = lucid.func.grad(lambda t: t.sum())(x)
lucid.cat([x, x], dim=0).unsqueeze(0).expand(2, -1, -1).permute(2, 0, 1).contiguous().view(-1)
x.add_(1).mul_(2).clamp_(0, 1)
nn.Sequential(nn.Swish(), nn.SinusoidalPosEmbedding(4, 8), nn.Softsign())
nn.utils.clip_grad_norm_(net.parameters(), 1.0)
solution: Tensor = lucid.linalg.solve(lucid.eye(3), lucid.ones(3), out=lucid.empty(3))
stepped: Tensor = step(x)
recorded = lucid.compile(net, fullgraph=True)
recorded.linear.weight.requires_grad_(False)
x.reshpae(3)  # type: ignore[attr-defined]
lucid.rnadn(3)  # type: ignore[attr-defined]
lucid.linalg.sovle(x, x)  # type: ignore[attr-defined]
nn.Linaer(3, 4)  # type: ignore[attr-defined]
step(3)  # type: ignore[arg-type]
nn.Linear("3", 4)  # type: ignore[arg-type]
