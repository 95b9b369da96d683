"""A small ResNet on images that the program draws: python examples/gallery/resnet.py [--steps 150] [--device cpu|gpu]

Circles, squares, triangles and crosses of any size, colour and place under noise, 32x32 pixels. With bfloat16 autocast where
`--half` says so. Source: He et al., 2016.
"""
from __future__ import annotations

import argparse
import pathlib

import lucid
from lucid import Tensor, nn
from lucid.nn import functional as F

NAMES = ["circle", "square", "triangle", "cross"]


def images(count: int, device: str) -> tuple[Tensor, Tensor]:
    """Images (count, 3, 32, 32) and what they show (count,)."""
    grid = lucid.linspace(-1, 1, 32, device=device)
    centre = lucid.rand(count, 2, 1, 1, device=device) - 0.5
    size = 0.25 + 0.3 * lucid.rand(count, 1, 1, device=device)
    x, y = (grid[None, None] - centre[:, 0]) / size, (grid[None, :, None] - centre[:, 1]) / size
    inside = lucid.stack([
        x * x + y * y < 1, lucid.maximum(x.abs(), y.abs()) < 0.9, (y.abs() < 1) & (x.abs() < (y + 1) / 2),
        (lucid.minimum(x.abs(), y.abs()) < 0.3) & (lucid.maximum(x.abs(), y.abs()) < 1)])
    label = lucid.randint(0, 4, (count,), device=device)
    shape = inside[label, lucid.arange(count, device=device)].unsqueeze(1)
    colours = lucid.rand(2, count, 3, 1, 1, device=device)
    noise = 0.15 * lucid.randn(count, 3, 32, 32, device=device)
    return lucid.where(shape, 0.5 + colours[0] / 2, colours[1] / 2) + noise, label


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


def build() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1),
                         Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 4))


def main(steps: int = 150, device: str = "cpu", output: pathlib.Path | None = None, half: bool = False) -> float:
    """Train, and return the share of 500 new images that are named right."""
    from tqdm import trange

    lucid.manual_seed(0)
    model = build().to(device)
    optimizer = lucid.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = lucid.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))

    @lucid.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        with lucid.autocast("gpu" if x.is_cuda else "cpu", lucid.bfloat16, enabled=half):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in trange(steps, disable=None):
        step(*images(64, device))
        schedule.step()
    x, y = images(500, device)
    model.eval()
    with lucid.no_grad():
        named = model(x).argmax(1)
    right = (named == y).float().mean().item()
    print(f"{right:.1%} of 500 new images are named right")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(2, 8, figsize=(8, 2.4))
        for axis, image, name in zip(axes.flat, x.cpu().clamp(0, 1), named.tolist()[:16]):  # noqa: B905 - the first ones
            axis.imshow(image.permute(1, 2, 0).numpy())
            axis.set_title(NAMES[name], fontsize=8)
            axis.set_axis_off()
        figure.tight_layout()
        figure.savefig(output, dpi=56)
    return float(right)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("resnet.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output, options.half)
