"""Diffusion on points of the plane: python examples/gallery/diffusion.py [--steps 3000] [--device cpu|gpu]

A network learns to say which noise was added to points of a spiral; from pure noise it then walks back to the spiral in 50
steps. A moving average of the weights, which buffers of `AveragedModel` hold, does the walking. Source: Ho et al., 2020.
"""
from __future__ import annotations

import argparse
import pathlib

import lucid
from lucid import Tensor, nn
from lucid.optim.swa_utils import AveragedModel, get_ema_avg_fn

TIMES = 50


class Noise(nn.Module):
    """The noise in points (N, 2) at times (N,)."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        betas = lucid.linspace(1e-4, 0.2, TIMES)
        self.kept = nn.Buffer((1 - betas).cumprod(0))  # the share of the signal that is left at each time
        self.betas = nn.Buffer(betas)
        self.when = nn.Embedding(TIMES, width)
        self.first = nn.Linear(2, width)
        self.layers = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                    nn.Linear(width, 2))

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        noise: Tensor = self.layers(self.first(x) + self.when(time))
        return noise

    @lucid.no_grad()
    def draw(self, count: int, device: str) -> list[Tensor]:
        """Points at each time, from noise to data."""
        x = lucid.randn(count, 2, device=device)
        path = [x]
        for time in reversed(range(TIMES)):
            beta, kept = self.betas[time], self.kept[time]
            noise = self(x, lucid.full((count,), time, device=device))
            x = (x - beta / (1 - kept).sqrt() * noise) / (1 - beta).sqrt()
            if time:
                x = x + beta.sqrt() * lucid.randn_like(x)
            path.append(x)
        return path


def spiral(count: int, device: str) -> Tensor:
    angle = 3 * lucid.pi * lucid.rand(count, device=device).sqrt()
    return lucid.stack([angle.cos(), angle.sin()], 1) * angle[:, None] / 5 + 0.02 * lucid.randn(count, 2, device=device)


def distance(points: Tensor, device: str) -> float:
    """The mean distance of points from the nearest of the spiral."""
    return float(lucid.cdist(points, spiral(2000, device)).amin(1).mean().item())


def main(steps: int = 3000, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train, draw, and return the mean distance of drawn points from the spiral."""
    from tqdm import trange

    lucid.manual_seed(0)
    model = Noise().to(device)
    average = AveragedModel(model, avg_fn=get_ema_avg_fn(0.99))
    optimizer = lucid.optim.Adam(model.parameters(), lr=2e-3)

    @lucid.compile
    def step(x: Tensor, time: Tensor, noise: Tensor) -> Tensor:
        optimizer.zero_grad()
        kept = model.kept[time][:, None]
        loss: Tensor = (model(kept.sqrt() * x + (1 - kept).sqrt() * noise, time) - noise).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in trange(steps, disable=None):
        x = spiral(256, device)
        step(x, lucid.randint(0, TIMES, (256,), device=device), lucid.randn_like(x))
        average.update_parameters(model)
    drawn = average.module.draw(1000, device)
    error = distance(drawn[-1], device)
    print(f"drawn points lie {error:.3f} from the spiral, noise {distance(drawn[0], device):.3f}")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, 5, figsize=(10, 2.2))
        for axis, time in zip(axes, (0, 30, 40, 45, TIMES), strict=True):
            axis.scatter(*drawn[time].cpu().numpy().T, s=1)
            axis.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xticks=[], yticks=[], title=f"after {time} steps")
        figure.tight_layout()
        figure.savefig(output, dpi=70)
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("diffusion.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
