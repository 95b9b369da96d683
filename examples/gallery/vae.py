"""A variational autoencoder of handwritten digits: python examples/gallery/vae.py [--steps 2000] [--device cpu|gpu]

The encoder gives each image a normal distribution over 8 numbers, the decoder an image for each sample of it. The loss is the
reconstruction plus the divergence from the standard normal, from which new digits are drawn. Source: Kingma and Welling, 2014.
"""
from __future__ import annotations

import argparse
import pathlib

import lucid
from lucid import Tensor, nn
from lucid.distributions import Normal, kl_divergence
from lucid.nn import functional as F


class Autoencoder(nn.Module):
    """Images (N, 64) of values in [0, 1]."""

    def __init__(self, latent: int = 8, width: int = 256) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, 64))
        self.latent = latent

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each image in two parts: reconstruction and divergence, in nats."""
        mean, log_scale = self.encoder(x).chunk(2, -1)
        posterior = Normal(mean, log_scale.exp(), validate_args=False)
        logits = self.decoder(posterior.rsample())
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
        prior = Normal(lucid.zeros_like(mean), lucid.ones_like(mean), validate_args=False)
        return reconstruction, kl_divergence(posterior, prior).sum(-1)

    def draw(self, count: int, device: str) -> Tensor:
        """New images (count, 8, 8)."""
        drawn: Tensor = self.decoder(lucid.randn(count, self.latent, device=device)).sigmoid()
        return drawn.reshape(count, 8, 8)


def main(steps: int = 2000, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train, draw and return the mean loss of the last tenth of the steps."""
    from sklearn.datasets import load_digits
    from tqdm import trange

    lucid.manual_seed(0)
    images = lucid.tensor(load_digits(return_X_y=True)[0] / 16, dtype=lucid.float32, device=device)
    model = Autoencoder().to(device)
    optimizer = lucid.optim.Adam(model.parameters(), lr=2e-3)

    @lucid.compile
    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        reconstruction, divergence = model(x)
        loss: Tensor = (reconstruction + divergence).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(images[lucid.randint(0, len(images), (128,), device=device)]).item() for _ in trange(steps, disable=None)]
    last = losses[-max(steps // 10, 1):]
    print(f"loss {sum(last) / len(last):.2f} nats an image")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        with lucid.no_grad():
            drawn = F.pad(model.draw(60, device).cpu(), (1, 1, 1, 1)).reshape(5, 12, 10, 10).transpose(1, 2).reshape(50, 120)
        pyplot.imsave(output, drawn.repeat_interleave(4, 0).repeat_interleave(4, 1).numpy(), cmap="gray_r", vmin=0, vmax=1)
    return float(sum(last) / len(last))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("vae.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
