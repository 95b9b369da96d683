"""A compiled module stands for the module itself: attributes, mode, length, copies."""
from __future__ import annotations

import copy
import pickle

import pytest

import lucid
from lucid import nn


class Scaled(nn.Module):
    """A layer and a number."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(2, 2), 1.0

    def forward(self, x):
        return self.layer(x) * self.scale


@pytest.mark.parametrize("again", [lambda model: model, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_attributes_are_those_of_the_module(again):
    model, x = again(lucid.compile(Scaled())), lucid.ones(1, 2)
    with lucid.no_grad():
        for scale in (1.0, 1.0, 1.0, 3.0, 3.0, 3.0):
            model.scale = scale
            assert model(x).tolist() == (model.layer(x) * scale).tolist()
    assert model._compiled._replays == 2
    assert model._orig_mod.scale == model.scale == 3.0
    model.layer = nn.Linear(2, 4)
    assert model(x).shape == (1, 4)
    assert list(model.state_dict()) == ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    assert "scale" in dir(model)
    del model.scale
    assert not hasattr(model._orig_mod, "scale")
    with pytest.raises(AttributeError, match="nothing"):
        del model.nothing


def test_the_mode_is_that_of_the_module():
    module = nn.Sequential(nn.Dropout(0.5)).eval()
    model = lucid.compile(module)
    assert not model.training
    module.train()
    assert model.training
    model.eval()
    assert not module.training and not module[0].training
    model.training = True
    assert module.training and not module[0].training


def test_length_and_truth():
    assert len(lucid.compile(nn.Sequential(nn.ReLU(), nn.ReLU()))) == 2
    assert lucid.compile(nn.ReLU())
    assert not lucid.compile(nn.Sequential())
    with pytest.raises(TypeError, match="len"):
        len(lucid.compile(nn.ReLU()))
