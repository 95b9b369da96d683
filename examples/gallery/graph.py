"""A graph network: python examples/gallery/graph.py [--steps 200] [--device cpu|gpu]

A club of 34 people split in two; who knew whom is all there is to see. Told the side of the two leaders alone, a graph
convolution (Kipf and Welling, 2017) finds the sides of the others. Data: W. Zachary, "An information flow model for conflict and
fission in small groups", 1977.
"""
from __future__ import annotations

import argparse
import pathlib

import lucid
from lucid import Tensor, nn
from lucid.nn import functional as F

#: Of each person, those with higher numbers whom he or she knew.
KNOWN = {0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31], 1: [2, 3, 7, 13, 17, 19, 21, 30],
         2: [3, 7, 8, 9, 13, 27, 28, 32], 3: [7, 12, 13], 4: [6, 10], 5: [6, 10, 16], 6: [16], 8: [30, 32, 33], 9: [33], 13: [33],
         14: [32, 33], 15: [32, 33], 18: [32, 33], 19: [33], 20: [32, 33], 22: [32, 33], 23: [25, 27, 29, 32, 33],
         24: [25, 27, 31],
         25: [31], 26: [29, 33], 27: [33], 28: [31, 33], 29: [32, 33], 30: [32, 33], 31: [32, 33], 32: [33]}
FIRST = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21}  # the side of person 0
SIDES = [0 if person in FIRST else 1 for person in range(34)]


class GraphNet(nn.Module):
    """Two graph convolutions: each person takes the mean of those known, weighted by the degrees, and of itself."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.adjacency = nn.Buffer(normalized())
        self.first, self.second = nn.Linear(34, width), nn.Linear(width, 2)

    def forward(self) -> Tensor:
        """Logits (34, 2)."""
        hidden = (self.adjacency @ self.first.weight.T + self.first.bias).tanh()
        logits: Tensor = self.adjacency @ self.second(F.dropout(hidden, 0.2, self.training))
        return logits


def normalized() -> Tensor:
    matrix = lucid.eye(34)
    for person, others in KNOWN.items():
        matrix[person, others] = 1
        matrix[others, person] = 1
    root = matrix.sum(1).rsqrt()
    return root[:, None] * matrix * root


def main(steps: int = 200, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train on the two leaders, and return the share of all 34 that are on the right side."""
    from tqdm import trange

    lucid.manual_seed(0)
    model = GraphNet().to(device)
    optimizer = lucid.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-3)
    leaders, sides = lucid.tensor([0, 33], device=device), lucid.tensor([0, 1], device=device)

    @lucid.compile
    def step(people: Tensor, sides: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model()[people], sides)
        loss.backward()
        optimizer.step()
        return loss

    for _ in trange(steps, disable=None):
        step(leaders, sides)
    model.eval()
    with lucid.no_grad():
        logits = model().cpu()
    right = (logits.argmax(1) == lucid.tensor(SIDES)).float().mean().item()
    print(f"{right:.1%} of 34 people are on their side")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        # Places: the two leaders apart, everybody between those known.
        place = lucid.linalg.eigh(normalized())[1][:, -3:-1]
        figure, axis = pyplot.subplots(figsize=(5, 3.6))
        for person, others in KNOWN.items():
            for other in others:
                axis.plot(*place[[person, other]].T.numpy(), color="0.8", lw=0.6, zorder=1)
        side = logits.softmax(1)[:, 1].numpy()
        axis.scatter(place[:, 0].numpy(), place[:, 1].numpy(), c=side, cmap="coolwarm", vmin=0, vmax=1, s=70, zorder=2)
        for person in (0, 33):
            axis.annotate(f"leader {person}", place[person].tolist(), (7, 5), textcoords="offset points", fontsize=10)
        axis.set_axis_off()
        figure.tight_layout()
        figure.savefig(output, dpi=70)
    return float(right)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("graph.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
