"""A training with workers, learning rates, a checkpoint, and operators of the program's own."""
import io
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        x = torch.tensor([float(index)])
        return x / 8, x ** 2 / 64


@torch.library.custom_op("tests::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor=2.0):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    ctx.factor = inputs[1]


scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup_context)
library = torch.library.Library("tests", "FRAGMENT")
library.define("twice(Tensor x) -> Tensor")
library.define("opaque(Tensor x) -> Tensor")
library.impl("twice", lambda x: x + x)
library.impl("opaque", lambda x: x * 3, "CPU")


def check_operators():
    x = torch.ones(2, requires_grad=True)
    (torch.ops.tests.scale(x, factor=3.0) + torch.ops.tests.twice.default(x)).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    y = torch.ops.tests.opaque(x)
    assert y.tolist() == [3.0, 3.0]
    for use, error in ((lambda: y.sum().backward(), RuntimeError), (lambda: torch.ops.tests.none, AttributeError),
                       (lambda: torch.ops.load_library("/nowhere/libother.so"), OSError)):
        try:
            use()
        except error:
            pass
        else:
            raise AssertionError(error)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    losses = []
    loader = DataLoader(Squares(), batch_size=4, shuffle=True, num_workers=1, persistent_workers=True)
    for _ in range(6):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    assert losses[-1] < losses[0] / 2, losses
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint")  # no ending: the format is PyTorch's
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}, path)
        with open(path, "rb") as file:
            assert file.read(2) == b"PK"
        read = torch.load(path, map_location="cpu", weights_only=True)
    assert read["losses"] == losses
    model.load_state_dict(read["model"])
    optimizer.load_state_dict(read["optimizer"])
    buffer = io.BytesIO()
    torch.save({"x": torch.arange(3), "dtype": torch.float16}, buffer)
    buffer.seek(0)
    read = torch.load(buffer)
    assert torch.equal(read["x"], torch.arange(3)) and read["dtype"] is torch.float16
    check_operators()
    print("done")


if __name__ == "__main__":
    main()
