"""Pickles of earlier versions name modules that have moved since."""
from __future__ import annotations

import importlib
import pickle
from typing import Any

import pytest

import lucid
from lucid import nn, optim
from lucid._namespace.old_names import _MOVED


def by_name(module: str, name: str) -> Any:
    """What a pickle finds by the name of a module and of something in it."""
    return pickle.loads(f"c{module}\n{name}\n.".encode())


@pytest.mark.parametrize("old", _MOVED)
def test_every_old_name_is_importable_and_gone(old: str) -> None:
    module = importlib.import_module(old)
    assert not hasattr(module, "__file__")
    with pytest.raises(AttributeError, match=old):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize(("module", "name", "found"), [
    ("lucid.nn.uninitialized", "UninitializedParameter", nn.UninitializedParameter),
    ("lucid.nn.modules.piecewise_activation", "Mish", nn.Mish),
    ("lucid.nn.modules.margin_loss", "HuberLoss", nn.HuberLoss),
    ("lucid.nn.modules.rnn_cells", "LSTMCell", nn.LSTMCell),
    ("lucid.nn.modules.module", "Module", nn.Module),
    ("lucid.optim._cyclic", "CyclicLR", optim.lr_scheduler.CyclicLR),
    ("lucid.ops.norms", "norm", lucid.norm),
    ("lucid.ops.likelihood_loss", "huber_loss", nn.functional.huber_loss),
    ("lucid.ops.histogram", "unique", lucid.unique),
    ("lucid.ops.sorting.histogram", "unique", lucid.unique),
    ("lucid.ops.linalg.vector_norms", "norm", lucid.norm),
])
def test_classes_and_functions(module: str, name: str, found: Any) -> None:
    assert by_name(module, name) is found


def test_a_model_of_an_earlier_version() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Mish(), nn.LazyLinear(2))
    earlier = pickle.dumps(model, protocol=2).replace(b"lucid.nn.modules.activation", b"lucid.nn.modules.piecewise_activation")
    assert b"piecewise" in earlier
    loaded = pickle.loads(earlier)
    x = lucid.ones(5, 3)
    assert loaded(x).shape == (5, 2)
    assert lucid.equal(loaded[1](x), model[1](x))


def test_a_scheduler_of_an_earlier_version() -> None:
    schedule = optim.lr_scheduler.CyclicLR(optim.SGD([nn.Parameter(lucid.ones(2))], lr=0.1, momentum=0.9), 0.1, 0.2, step_size_up=4)
    schedule.optimizer.step()
    schedule.step()
    earlier = pickle.dumps(schedule, protocol=2).replace(b"lucid.optim.lr_scheduler.cyclic", b"lucid.optim._cyclic")
    assert pickle.loads(earlier).get_last_lr() == schedule.get_last_lr()


def test_the_result_of_an_operation_of_an_earlier_version() -> None:
    counts = lucid.histogram(lucid.tensor([1.0, 2.0, 2.0]), 2)
    earlier = pickle.dumps(counts, protocol=2).replace(b"lucid.ops.sorting.histogram", b"lucid.ops.histogram")
    assert pickle.loads(earlier).hist.tolist() == counts.hist.tolist()


def test_tensors_of_an_earlier_version() -> None:
    x = lucid.arange(6.0).reshape(2, 3)
    dense = pickle.dumps((x, x[1], x.shape), protocol=2)
    sparse = pickle.dumps(lucid.eye(2).to_sparse(), protocol=2)
    for new, old in ((b"clucid.tensor.pickling\nunpickle", b"clucid.tensor\n_unpickle"), (b"clucid.tensor.size\n", b"clucid.tensor\n")):
        assert new in dense + sparse
        dense, sparse = dense.replace(new, old), sparse.replace(new, old)
    whole, row, shape = pickle.loads(dense)
    assert whole.tolist() == x.tolist() and row.tolist() == [3.0, 4.0, 5.0] and shape == x.shape
    assert pickle.loads(sparse).to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
