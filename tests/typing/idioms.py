"""What programs for PyTorch do, in lucid: checkers of types report nothing on it, and it runs."""
from collections import OrderedDict

import numpy as np

import lucid
import lucid.nn.functional as F
from lucid import Tensor, nn, optim
from lucid.data import DataLoader, Dataset, TensorDataset, random_split
from lucid.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width)
        self.linear, self.lstm = nn.Linear(width, 10), nn.LSTM(10, 5, batch_first=True)
        self.register_buffer("steps", lucid.tensor(0))
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.weight = nn.Parameter(lucid.empty(3, 4))
        nn.init.xavier_uniform_(self.weight)
        nn.init.zeros_(self.linear.bias)
        self.linear.weight.data.mul_(2)

    def forward(self, x: Tensor) -> Tensor:
        n, *_ = x.shape
        y = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        y, indices = F.max_pool2d(y, 2, return_indices=True)
        y = F.adaptive_avg_pool2d(y, 1).flatten(1)
        out, (_h, _c) = self.lstm(self.linear(y)[:, None])
        self.steps += 1
        return F.log_softmax(out[:, -1].reshape(n, -1), dim=-1)


class Pairs(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return lucid.ones(2), index


@lucid.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    right = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum().item()
    return right / len(loader)


def training(net: Net, x: Tensor) -> None:
    optimizer = optim.AdamW([{"params": net.linear.parameters(), "lr": 1e-3}, {"params": [net.weight]}], lr=0.1, betas=(0.9, 0.99))
    for group in optimizer.param_groups:
        group["lr"] *= 0.5
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    scaler = lucid.amp.GradScaler("cpu")
    with lucid.autocast(device_type="cpu", dtype=lucid.bfloat16):
        loss = F.nll_loss(net(x), lucid.randint(0, 5, (2,)))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    total = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    assert x.grad is not None and x.grad.abs().max() >= 0
    print(schedule.get_last_lr()[0], float(loss), total.item(), sum(p.numel() for p in net.parameters() if p.requires_grad))
    with lucid.no_grad():
        net.weight -= 0.1 * net.weight
    state: OrderedDict[str, Tensor] = net.state_dict()
    missing, _unexpected = net.load_state_dict({}, strict=False)
    assert set(missing) <= set(state)
    average = optim.swa_utils.AveragedModel(net)
    average.update_parameters(net)
    train, _test = random_split(TensorDataset(lucid.randn(10, 1, 8, 8), lucid.zeros(10, dtype=lucid.long)), [8, 2])
    print(accuracy(net, DataLoader(train, batch_size=2, drop_last=True)), [index for _, index in DataLoader(Pairs(), 2)])


def tensors(x: Tensor) -> None:
    _values, _order = x.flatten(1).topk(2, dim=-1)
    rows: Tensor = x.flatten(1).max(dim=1).values
    largest: Tensor = x.max()
    parts = [x[0, :, ::2], x[..., None], x[x > 0], x[[0, 1]], x[lucid.tensor([0])], *x.chunk(2, dim=0), *x.unbind(0)]
    changed = x.detach().clone()
    changed[0], changed[changed > 0] = 1.0, 0
    computed = 1 - x / 2 ** x - x ** 2 + (x @ x.mT) * 3 - abs(x)
    chosen = ~(x > 0) & (x < 1) | (x == 0)
    length: int = x.shape[0] + x.size(0) + x.stride(0) + len(x)
    beyond: tuple[int, ...] = x.shape[1:]
    array = np.asarray(changed)
    values, _inverse, _counts = lucid.unique(lucid.from_numpy(array), return_inverse=True, return_counts=True)
    u, _s, vh = lucid.linalg.svd(lucid.eye(3))
    product = lucid.einsum("ij,jk->ik", u, vh)
    (places, *_) = lucid.where(chosen)
    print(rows, largest, len(parts), computed.shape, length, beyond, values.dtype, product, places, lucid.where(x > 0, x, 0.0).tolist()[0])


def derivatives(net: Net, x: Tensor) -> None:
    (g,) = lucid.autograd.grad((x * x).sum(), x)
    out, tangent = lucid.func.jvp(lambda t: t * 2, (x,), (x,))
    checkpoint(net, x, use_reentrant=False).sum().backward()
    print((g * 2).shape, (out + tangent).shape, lucid.vmap(lambda t: t.sum())(x), lucid.func.jacrev(lambda t: t.sum())(x).shape)
    normal = lucid.distributions.Normal(lucid.zeros(2), lucid.ones(2))
    print(normal.log_prob(normal.rsample()).sum(), normal.mean + 1, lucid.distributions.kl_divergence(normal, normal))


if __name__ == "__main__":
    lucid.manual_seed(0)
    images = lucid.randn(2, 1, 8, 8, requires_grad=True)
    training(Net().to("cpu").train(), images)
    tensors(images)
    derivatives(Net(), images)
