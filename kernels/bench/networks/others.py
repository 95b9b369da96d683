"""Networks of tables, graphs, points, signals and volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.library import Library
from bench.networks.network import Network, labels, numbers


def graph_convolution(library: Library) -> Any:
    """2,000 nodes with 8,000 edges -> seven classes.

    Source: Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional Networks", 2017.
    """
    nn, F, lib = library.nn, library.F, library.lib
    rng = np.random.default_rng(1)

    class Graph(nn.Module):
        """Two linear layers, each followed by sums over the neighbours."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 7)
            for name in ("sources", "targets"):
                self.register_buffer(name, library.tensor(rng.integers(0, 2000, 8000)), persistent=False)

        def spread(self, x: Any) -> Any:
            """Each node's sum over the edges that end there."""
            return lib.zeros(x.shape[0], x.shape[1], device=x.device).index_add(0, self.targets, x[self.sources])

        def forward(self, x: Any) -> Any:
            """(nodes, 64) -> (nodes, 7)."""
            return self.spread(self.second(F.relu(self.spread(self.first(x)))))

    return Graph()


def tabular(library: Library) -> Any:
    """Rows of ten categories -> one logit."""
    nn, lib = library.nn, library.lib

    class Tabular(nn.Module):
        """An embedding for each category, and a perceptron."""

        def __init__(self) -> None:
            super().__init__()
            self.embeddings = nn.ModuleList(nn.Embedding(100, 8) for _ in range(10))
            self.layers = nn.Sequential(nn.Linear(80, 200), nn.ReLU(), nn.BatchNorm1d(200), nn.Linear(200, 100), nn.ReLU(),
                                        nn.BatchNorm1d(100), nn.Linear(100, 1))

        def forward(self, x: Any) -> Any:
            """(N, 10) -> (N, 1)."""
            return self.layers(lib.cat([embedding(x[:, i]) for i, embedding in enumerate(self.embeddings)], 1))

    return Tabular()


def pointnet(library: Library) -> Any:
    """Points (N, 3, P) -> forty classes. Source: Qi et al., "PointNet", 2017."""
    nn = library.nn

    class PointNet(nn.Module):
        """A perceptron for each point, and one for their maxima."""

        def __init__(self) -> None:
            super().__init__()
            self.points = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1),
                                        nn.BatchNorm1d(128), nn.ReLU(), nn.Conv1d(128, 512, 1), nn.BatchNorm1d(512))
            self.head = nn.Sequential(nn.Linear(512, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 40))

        def forward(self, x: Any) -> Any:
            """(N, 3, P) -> (N, 40)."""
            return self.head(self.points(x).max(2)[0])

    return PointNet()


def temporal(library: Library) -> Any:
    """Signals (N, 1, T) -> ten classes. Source: Bai et al., "Generic Convolutional and Recurrent Networks", 2018."""
    nn, F = library.nn, library.F

    class Temporal(nn.Module):
        """Causal convolutions, each twice as far apart as the one before."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv1d(32 if i else 1, 32, 3, dilation=2**i) for i in range(6))
            self.head = nn.Linear(32, 10)

        def forward(self, x: Any) -> Any:
            """(N, 1, T) -> (N, 10)."""
            for i, layer in enumerate(self.layers):
                y = F.relu(layer(F.pad(x, (2 * 2**i, 0))))
                x = x + y if i else y
            return self.head(x[:, :, -1])

    return Temporal()


def volumes(library: Library) -> Any:
    """Short videos (N, 3, 16, 32, 32) -> ten classes."""
    nn = library.nn
    return nn.Sequential(
        nn.Conv3d(3, 16, 3, 1, 1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
        nn.Conv3d(16, 32, 3, 1, 1), nn.BatchNorm3d(32), nn.ReLU(), nn.MaxPool3d(2),
        nn.Conv3d(32, 64, 3, 1, 1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 10))


def radiance(library: Library) -> Any:
    """Points (N, 3) -> colours, by sines and cosines and a perceptron. Source: Mildenhall et al., "NeRF", 2020."""
    nn, lib = library.nn, library.lib

    class Radiance(nn.Module):
        """Ten frequencies of each coordinate, and three linear layers."""

        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(60, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 3))
            self.register_buffer("frequencies", library.tensor(2 ** np.arange(10, dtype=np.float32)), persistent=False)

        def forward(self, x: Any) -> Any:
            """(N, 3) -> (N, 3)."""
            y = (x[..., None] * self.frequencies).flatten(-2)
            return self.layers(lib.cat([y.sin(), y.cos()], -1)).sigmoid()

    return Radiance()


OTHERS = {
    "graph convolution": Network(graph_convolution, numbers(2000, 64), labels(7, 2000)),
    "tabular embeddings": Network(tabular, labels(100, 256, 10), numbers(256, 1), "BCEWithLogitsLoss"),
    "PointNet": Network(pointnet, numbers(16, 3, 512), labels(40, 16)),
    "temporal convolution": Network(temporal, numbers(16, 1, 784), labels(10, 16)),
    "3D CNN": Network(volumes, numbers(4, 3, 16, 32, 32), labels(10, 4)),
    "NeRF": Network(radiance, numbers(4096, 3), numbers(4096, 3), "MSELoss"),
}
