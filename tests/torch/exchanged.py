"""``python exchanged.py save FOLDER``: whole modules with what they compute; ``load FOLDER``: read them, compute that and train."""
import pathlib
import sys

sys.modules.setdefault("lucid", None) if sys.argv[3:] == ["without"] else None
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def x(*shape, dtype=torch.float32):
    return torch.linspace(-1, 2, torch.Size(shape).numel(), dtype=dtype).reshape(shape)


def encoder(**options):
    return nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, **options)


def cases():
    torch.manual_seed(0)  # a layer norm of features that are nearly equal would make much of a last bit
    image, rows, time = x(2, 3, 6, 6), x(2, 3), x(2, 5, 3)
    query = x(2, 3, 4)
    tokens = torch.tensor([[1, 2]])
    activations = (nn.GELU, nn.ELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.LeakyReLU, nn.Softplus, nn.Tanh, nn.ReLU6, nn.Hardtanh)
    return {
        "linear": (nn.Linear(3, 2), rows), "frozen": (nn.Linear(3, 2).double().requires_grad_(False), x(2, 3, dtype=torch.float64)),
        "conv1d": (nn.Conv1d(3, 2, 2, padding="same"), x(1, 3, 6)),
        "conv2d": (nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular"), image), "conv3d": (nn.Conv3d(3, 2, 3), x(1, 3, 6, 6, 6)),
        "transposed": (nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1), image), "batch norm": (nn.BatchNorm2d(3), image),
        "bare batch norm": (nn.BatchNorm1d(3, affine=False, track_running_stats=False), rows),
        "instance norm": (nn.InstanceNorm2d(3, affine=True), image), "group norm": (nn.GroupNorm(1, 3), image),
        "layer norm": (nn.LayerNorm(3), rows), "rms norm": (nn.RMSNorm(3), rows),
        "lstm": (nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), time), "projected": (nn.LSTM(3, 4, proj_size=2), time),
        "gru": (nn.GRU(3, 4), time), "rnn": (nn.RNN(3, 4, nonlinearity="relu"), time), "cell": (nn.GRUCell(3, 4), rows),
        "attention": (nn.MultiheadAttention(4, 2, batch_first=True), query, query, query),
        "widths": (nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True), query, x(2, 3, 3), x(2, 3, 5)),
        "encoder layer": (encoder(), query), "encoder": (nn.TransformerEncoder(encoder(activation="gelu", batch_first=True), 2), query),
        "decoder": (nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, norm_first=True), 1, nn.LayerNorm(4)), query, query),
        "transformer": (nn.Transformer(4, 2, 1, 1, 8), query, query), "bilinear": (nn.Bilinear(2, 3, 4), x(2, 2), rows),
        "embedding": (nn.Embedding(5, 3, padding_idx=0), tokens), "bag": (nn.EmbeddingBag(5, 3, mode="max"), tokens),
        "network": (nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(True), nn.MaxPool2d(2), nn.Dropout2d(0.2), nn.Flatten(),
                                  nn.Linear(8, 3), nn.LogSoftmax(1)), image),
        "activations": (nn.Sequential(*(kind() for kind in activations), nn.PReLU(), nn.Softmax(1)), rows),
        "pooling": (nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveMaxPool2d(3), nn.Upsample(scale_factor=2.0), nn.ZeroPad2d(1)), image),
        "loss": (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1), rows, torch.tensor([0, 1])),
        "weight norm": (nn.utils.weight_norm(nn.Linear(3, 2)), rows),
        "average": (torch.optim.swa_utils.AveragedModel(nn.Linear(3, 2)), rows),
    }


def result(module, inputs):
    with torch.no_grad():
        found = module.eval()(*inputs)
    return found[0] if isinstance(found, tuple) else found


def save(folder):
    for name, (module, *inputs) in cases().items():
        torch.save(module, folder / f"{name}.pt")
        torch.save((inputs, result(module, inputs)), folder / f"{name} computes.pt")
    others = [torch.relu, F.gelu, nn.init.zeros_, torch.Size([2]), torch.float16, torch.distributions.Normal(x(2), x(2).exp()),
              torch.utils.data.TensorDataset(x(2)), torch.optim.Adam(nn.Linear(1, 1).parameters(), 0.1)]
    torch.save(others, folder / "others.pt")
    lazy = [nn.LazyLinear(3), nn.Sequential(nn.LazyConv2d(2, 3), nn.ReLU()), nn.LazyBatchNorm1d()]
    torch.save([*lazy, nn.LazyLinear(2).state_dict(), nn.UninitializedParameter(requires_grad=False)], folder / "lazy.pt")


def load(folder):
    for name, (made, *_) in cases().items():
        module = torch.load(folder / f"{name}.pt", weights_only=False)
        inputs, wanted = torch.load(folder / f"{name} computes.pt")
        assert torch.allclose(result(module, inputs), wanted, rtol=1e-4, atol=1e-5), name
        assert type(module) is type(made) and repr(module) == repr(made), name
        assert list(module.state_dict()) == list(made.state_dict()), name
        found = module.train()(*inputs)
        found = found[0] if isinstance(found, tuple) else found
        if found.requires_grad and list(module.parameters()):
            found.sum().backward()
            torch.optim.SGD(module.parameters(), 0.1).step()
    relu, gelu, zeros, size, dtype, normal, dataset, optimizer = torch.load(folder / "others.pt", weights_only=False)
    assert relu(x(2)).tolist() == [0, 2] and gelu is F.gelu and zeros is nn.init.zeros_ and size == (2,) and dtype is torch.float16
    assert normal.sample().shape == (2,) and len(dataset) == 2
    optimizer.step()
    linear, conv, norm, state, parameter = torch.load(folder / "lazy.pt", weights_only=False)
    assert linear.load_state_dict(state) and not parameter.requires_grad and nn.parameter.is_lazy(linear.weight)
    assert linear(x(2, 4)).shape == (2, 3) and conv(x(1, 2, 4, 4)).shape == (1, 2, 2, 2) and type(linear) is nn.Linear
    assert norm(x(3, 2)).shape == (3, 2) and norm.num_batches_tracked == 1 and linear.weight.requires_grad
    assert not linear._forward_pre_hooks and not linear._load_state_dict_pre_hooks and linear.load_state_dict(linear.state_dict())


{"save": save, "load": load}[sys.argv[1]](pathlib.Path(sys.argv[2]))
print("done")
