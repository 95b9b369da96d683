"""Programs that run eagerly and compiled: what they return, and the state of the generator, is compared bit for bit.

A program is a function of `compiled`, which returns its argument or compiles it. It returns a function of the number of the call.
"""
from __future__ import annotations

import warnings

import numpy as np

import lucid
from lucid import nn

CALLS = 9


class Programs(dict):
    """Programs by their names; as a decorator it adds one."""

    def __call__(self, build):
        self[build.__name__] = build
        return build


def data(number, *shape, seed=0):
    """Numbers of a call."""
    return lucid.tensor(np.random.default_rng(seed * 100 + number).standard_normal(shape).astype(np.float32))


def labels(number, classes, size):
    """Classes of a call."""
    return lucid.tensor(np.random.default_rng(number).integers(0, classes, size))


def net():
    """A small perceptron."""
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def _contents(value):
    if isinstance(value, lucid.Tensor):
        elements = value.float() if value.dtype == lucid.bfloat16 else value
        return [(elements.numpy(force=True).copy(), value.dtype, value.requires_grad, value.is_inference(), value.stride())]
    if isinstance(value, dict):
        value = list(value.values())
    return [content for item in value for content in _contents(item)] if isinstance(value, (tuple, list)) else [value]


def _run(program, compiled):
    lucid.manual_seed(0)
    call = program(compiled)
    return [(_contents(call(number)), lucid.get_rng_state().tolist()) for number in range(CALLS)]


def check(program, replays):
    """Run a program both ways. `replays` says whether compiled calls are to be replayed, None that they may be. Returns the compiled
    function."""
    made = []

    def compiled(function):
        made.append(lucid.compile(function))
        return made[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _run(program, lambda function: function)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        found = _run(program, compiled)
    for number, ((values, state), (others, other)) in enumerate(zip(expected, found, strict=True)):
        assert len(values) == len(others)
        for value, result in zip(values, others, strict=True):
            if isinstance(value, tuple):
                np.testing.assert_array_equal(result[0], value[0], err_msg=f"call {number}")
                assert result[1:] == value[1:], f"call {number}"
            else:
                assert result == value, f"call {number}"
        assert state == other, f"call {number}"
    first = made[0].__dict__.get("_compiled", made[0])
    assert replays is None or (first._replays > 0) is replays, first.summary()
    return first
