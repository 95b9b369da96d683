"""Train a small conv net with BatchNorm buffers on real handwritten digits, on the CPU or on a GPU.

    python examples/digits.py [--device cpu|gpu] [--seed 0] [--epochs 15]

The images are scikit-learn's `load_digits`: 1797 scans of 8x8 pixels (E. Alpaydin and C. Kaynak, UCI repository, 1998),
shipped inside that package. After training, the checkpoint is saved, loaded into a fresh model and tested again: the
parameters and the buffers (`running_mean`, `running_var`) give the same accuracy. Then the buffers alone are reset, which
ruins it: what a model has learnt is not in its parameters only.
"""
from __future__ import annotations

import argparse
import pathlib
from typing import Any

import lucid
from lucid import nn
from lucid.data import DataLoader, TensorDataset
from lucid.nn import functional as F

BATCH_SIZE = 64
TRAIN_SAMPLES = 1437  # four fifths; the other 360 are the test set
LEARNING_RATE = 3e-3


def build_model(nn: Any) -> Any:
    """The network, from the layers of `lucid.nn` (or, in the benchmark, of `torch.nn`)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25),
        nn.Linear(32 * 4 * 4, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))


def load_data(seed: int) -> tuple[TensorDataset, TensorDataset]:
    """Training and test images (N, 1, 8, 8), dark ink on paper of brightness 1, and their labels (N,), shuffled by `seed`."""
    from sklearn.datasets import load_digits

    ink, digits = load_digits(return_X_y=True)
    images = lucid.tensor(1 - ink.reshape(-1, 1, 8, 8) / 16, dtype=lucid.float32, device="cpu")
    labels = lucid.tensor(digits, dtype=lucid.int64, device="cpu")
    order = lucid.randperm(len(labels), generator=lucid.Generator().manual_seed(seed), device="cpu")
    train, test = order[:TRAIN_SAMPLES], order[TRAIN_SAMPLES:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


@lucid.no_grad()
def predict(model: nn.Module, images: lucid.Tensor, device: lucid.device) -> lucid.Tensor:
    """The most likely digit of each image, on the CPU."""
    model.eval()
    return model(images.to(device)).argmax(1).cpu()


def accuracy(model: nn.Module, dataset: TensorDataset, device: lucid.device) -> float:
    """The fraction of images of `dataset` that `model` names correctly."""
    images, labels = dataset.tensors
    return (predict(model, images, device) == labels).float().mean().item()


def train(model: nn.Module, train_set: TensorDataset, test_set: TensorDataset, device: lucid.device, seed: int, epochs: int
          ) -> list[tuple[float, float]]:
    """Train with AdamW and a one-cycle learning rate; the mean loss and the test accuracy of each epoch."""
    from tqdm import tqdm

    loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True, generator=lucid.Generator().manual_seed(seed))
    optimizer = lucid.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.05)
    schedule = lucid.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=epochs * len(loader))

    @lucid.compile  # recorded twice for each size of a batch, and then replayed with the same numbers
    def step(images: lucid.Tensor, labels: lucid.Tensor) -> lucid.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    history = []
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for images, labels in tqdm(loader, desc=f"epoch {epoch}", leave=False, disable=None):
            total += step(images.to(device), labels.to(device)).item() * len(labels)
        history.append((total / len(train_set), accuracy(model, test_set, device)))
        print(f"epoch {epoch:2d}  loss {history[-1][0]:.4f}  test accuracy {history[-1][1]:.2%}", flush=True)
    return history


def check_buffers(path: pathlib.Path, test_set: TensorDataset, device: lucid.device) -> tuple[float, float]:
    """The accuracy of the checkpoint in a fresh model, and after its running statistics have been reset."""
    model = build_model(nn).to(device)
    model.load_state_dict(lucid.load(path))
    reloaded = accuracy(model, test_set, device)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.reset_running_stats()
    return reloaded, accuracy(model, test_set, device)


def plot(history: list[tuple[float, float]], model: nn.Module, test_set: TensorDataset, device: lucid.device,
         path: pathlib.Path) -> None:
    """Draw the learning curve and sixteen test images with their predictions, mistakes first and in red."""
    import matplotlib

    matplotlib.use("Agg")  # write files, on machines without a screen too
    from matplotlib import pyplot as plt

    images, labels = test_set.tensors
    predictions = predict(model, images, device)
    order = (predictions == labels).int().argsort()[:16].tolist()

    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1), squeeze=False)[0]
    loss_axis = left.subplots()
    epochs = range(1, len(history) + 1)
    loss_axis.plot(epochs, [loss for loss, _ in history], color="tab:blue", label="training loss")
    loss_axis.set(xlabel="epoch", ylabel="training loss", title="Learning curve", yscale="log")
    accuracy_axis = loss_axis.twinx()
    accuracy_axis.plot(epochs, [100 * share for _, share in history], color="tab:orange", label="test accuracy")
    accuracy_axis.set_ylabel("test accuracy (%)")
    left.legend(loc="outside lower center", ncols=2)
    right.suptitle("Predictions (mistakes first)")
    for axis, index in zip(right.subplots(4, 4).flat, order, strict=True):
        axis.imshow(images[index, 0].numpy(), cmap="gray_r")
        right_answer = predictions[index].item() == labels[index].item()
        axis.set_title(f"{predictions[index].item()}" if right_answer else
                       f"{predictions[index].item()} (is {labels[index].item()})",
                       fontsize=9, color="black" if right_answer else "tab:red")
        axis.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> float:
    """Run the whole example; returns the test accuracy."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default=str(lucid.get_default_device()), help="cpu or gpu (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the batches")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("output"), help="folder for results")
    options = parser.parse_args(arguments)
    device = lucid.device(options.device)
    if device == "gpu" and not lucid.gpu.is_available():
        parser.exit(2, f"{lucid.gpu.why_unavailable()}\n")

    lucid.manual_seed(options.seed)
    train_set, test_set = load_data(options.seed)
    model = build_model(nn).to(device)
    print(f"{sum(p.numel() for p in model.parameters())} parameters on {device}"
          f"{' (simulated)' if device == 'gpu' and lucid.gpu.is_simulated() else ''}, "
          f"{len(train_set)} training and {len(test_set)} test images", flush=True)
    history = train(model, train_set, test_set, device, options.seed, options.epochs)

    options.output.mkdir(parents=True, exist_ok=True)
    checkpoint, picture = options.output / "digits.safetensors", options.output / "digits.png"
    lucid.save(model.state_dict(), checkpoint)
    plot(history, model, test_set, device, picture)
    reloaded, ruined = check_buffers(checkpoint, test_set, device)
    print(f"saved {checkpoint} and {picture}")
    print(f"reloaded: {reloaded:.2%}; with running_mean and running_var reset: {ruined:.2%}")
    print(f"test accuracy {history[-1][1]:.2%}")
    return history[-1][1]


if __name__ == "__main__":
    main()
