"""A case of each operation that has plans: arrays, and two values of each attribute."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucid import backends
from lucid.backends.common.elementwise import program
from lucid.backends.elementwise import ROWS, Row
from lucid.backends.gpu import planning

gpu = backends.gpu_module()
rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


class Case:
    """An operation with arguments and attributes, and other values of each attribute."""

    def __init__(self, *arrays: Any, **attributes: Any) -> None:
        self.arrays = arrays
        self.attributes = {name: values[0] for name, values in attributes.items()}
        self.others = {name: values[1:] for name, values in attributes.items()}


def images(*shape: int) -> np.ndarray:
    return normal(*(shape or (2, 4, 6, 6)))


_WINDOW = {"kernel_size": [(2, 2), (3, 2)], "stride": [(2, 2), (1, 2)], "padding": [(0, 0), (1, 1)]}
_CONVOLUTION = {"stride": [(1, 1), (2, 1)], "padding": [(1, 1), (1, 2)], "dilation": [(1, 1), (2, 1)], "groups": [1, 2]}
_ROWS = (normal(6, 8), abs(normal(8)), normal(8))
_CHANNELS = tuple(abs(normal(4)) for _ in range(4))


_ORDER = {"in_order": [False, True]}
_SQUARE = np.add.outer(np.arange(6), np.arange(6)) % 6  # each number once in a row and in a column
_SEEDS = [3, 5, (1 << 64) - 2]
_FLOATS = [np.dtype("float32"), np.dtype("float64")]


def _formula(name: str) -> Any:
    return program(ROWS[name], np.dtype(np.float32), (True, True), ())


def _attention_grad() -> Case:
    q, k, v, g = (normal(2, 2, 5, 4) for _ in range(4))
    results = gpu.TABLE["attention"](*map(cupy.asarray, (q, k, v)), None, scale=0.5, is_causal=False, with_grad=True)
    return Case(g, q, k, v, None, *(result.get() for result in results[:3]), None, scale=[0.5, 0.7], is_causal=[False, True])


def _places() -> np.ndarray:
    return np.tile(np.array([0, 3, 14, 21, 24, 29, 30, 31, 35]).reshape(3, 3), (2, 4, 1, 1))


def _row(row: Row) -> Callable[[], Case]:
    """A case of an elementwise operation: arrays of numbers in its domain."""
    attributes: dict[str, list[Any]] = {name: _ATTRIBUTES[name] for name in row.attributes.split(", ") if name}
    return lambda: Case(*(abs(normal(5, 7)) / 8 + 0.1 for _ in range(row.arrays)), **attributes)


_EDGES = np.array([0, 2, 2, 6])
_AXES: dict[str, list[Any]] = {"axis": [1, 0], "keepdims": [False, True]}
_ATTRIBUTES = {"approximate": ["none", "tanh"], "slope": [0.1, 0.2], "alpha": [2.0, 3.0], "value": [2.0, 3.0], "n": [1, 2],
               "nan": [0.0, 1.0], "posinf": [None, 2.0], "neginf": [None, 2.0], "decimals": [0, 1], "eps": [None, 0.2]}
CASES: dict[str, Callable[[], Case]] = {
    **{name: _row(ROWS[name]) for name in planning.PLANNED if name in ROWS},
    **{f"bitwise_{name}": lambda: Case(np.arange(35).reshape(5, 7), np.arange(7)) for name in ("and", "or", "xor", "left_shift", "right_shift")},
    "bitwise_invert": lambda: Case(np.arange(35)),
    **{name: lambda: Case(normal(4, 6), dim=[1, 0, -1]) for name in ("softmax", "log_softmax")},
    **{name: lambda: Case(normal(4, 6), normal(4, 6), dim=[1, 0, -1]) for name in ("softmax_grad", "log_softmax_grad")},
    "attention": lambda: Case(*(normal(2, 2, 5, 4) for _ in range(3)), None, scale=[0.5, 0.7], is_causal=[False, True],
                              with_grad=[True, False]),
    "attention_grad": lambda: _attention_grad(),
    **{name: lambda: Case(shape=[(3, 5), (7,)], dtype=_FLOATS, seed=_SEEDS, offset=_SEEDS)
       for name in ("random_normal", "random_exponential")},
    "random_uniform": lambda: Case(shape=[(3, 5), (7,)], dtype=_FLOATS, seed=_SEEDS, offset=_SEEDS, low=[0.0, -1.0],
                                   high=[1.0, 2.0]),
    "random_integers": lambda: Case(shape=[(3, 5), (7,)], dtype=[np.dtype("int64")], seed=_SEEDS, offset=_SEEDS, low=[0, -3],
                                    high=[9, 1 << 62]),
    "fused": lambda: Case(normal(5, 7), normal(5, 7), program=[_formula("logaddexp"), _formula("fmax")]),
    "dropout": lambda: Case(normal(5, 7), p=[0.5, 0.2, 1.0], seed=_SEEDS, offset=_SEEDS),
    "cross_entropy": lambda: Case(normal(6, 5), np.array([0, 1, 2, 3, 4, 1]), None, reduction=["mean", "sum", "none"],
                                  ignore_index=[-100, 1], label_smoothing=[0.0, 0.1], with_grad=[True, False]),
    "nll_loss": lambda: Case(normal(6, 5), np.array([0, 1, 2, 3, 4, 1]), None, reduction=["mean", "sum"], ignore_index=[-100, 1]),
    "nll_loss_grad": lambda: Case(normal(6), np.array([0, 1, 2, 3, 4, 1]), None, shape=[(6, 5), (6, 7)],
                                  reduction=["none", "mean", "sum"], ignore_index=[-100, 1]),
    "embedding": lambda: Case(normal(6, 4), np.array([[0, 5], [2, 2]]), padding_idx=[None, 2]),
    "embedding_grad": lambda: Case(normal(6, 4), np.array([0, 5, 2, 2, 0, 1]), rows=[6, 9], padding_idx=[None, 2]),
    "index_select_grad": lambda: Case(normal(6, 6), np.array([0, 5, 2, 2, 0, 1]), shape=[(6, 6), (7, 6)], axis=[0]),
    "index_select": lambda: Case(normal(6, 6), np.array([0, 5, 2]), axis=[0, 1]),
    "gather": lambda: Case(normal(6, 6), np.arange(36).reshape(6, 6) % 6, axis=[0, 1]),
    "batch_norm": lambda: Case(images(), *_CHANNELS, momentum=[0.1, 0.2], eps=[1e-5, 1e-2]),
    "batch_norm_grad": lambda: Case(images(), images(), *_CHANNELS[:3]),
    "batch_norm_eval": lambda: Case(images(), *_CHANNELS, eps=[1e-5, 1e-2]),
    "batch_norm_eval_grad": lambda: Case(images(), images(), *_CHANNELS[:3], eps=[1e-5, 1e-2]),
    "batch_norm_relu": lambda: Case(images(), images(), *_CHANNELS, training=[True, False], momentum=[0.1, 0.2], eps=[1e-5, 1e-2]),
    "batch_norm_relu_grad": lambda: Case(images(), images(), abs(images()), *_CHANNELS, training=[True, False]),
    "layer_norm": lambda: Case(*_ROWS, normalized_ndim=[1], eps=[1e-5, 1e-2]),
    "layer_norm_grad": lambda: Case(normal(130, 8), normal(130, 8), abs(normal(8)), normal(130), abs(normal(130)),
                                    normalized_ndim=[1]),
    "group_norm": lambda: Case(images(), abs(normal(4)), normal(4), groups=[2, 4], eps=[1e-5, 1e-2]),
    "group_norm_grad": lambda: Case(images(), images(), abs(normal(4)), normal(2, 2), abs(normal(2, 2)), groups=[2]),
    "rms_norm": lambda: Case(*_ROWS[:2], normalized_ndim=[1], eps=[1e-5, 1e-2]),
    "rms_norm_grad": lambda: Case(normal(130, 8), normal(130, 8), abs(normal(8)), abs(normal(130)), normalized_ndim=[1]),
    "conv2d": lambda: Case(images(), normal(8, 4, 3, 3), None, **{**_CONVOLUTION, "groups": [1]}),
    "conv2d_relu": lambda: Case(images(), normal(8, 4, 3, 3), normal(8), **{**_CONVOLUTION, "groups": [1]}),
    "conv2d_grad": lambda: Case(normal(2, 8, 6, 6), normal(2, 4, 6, 6), normal(8, 4, 3, 3), with_bias=[False, True],
                                **{name: values[:1] for name, values in _CONVOLUTION.items()}),
    "conv2d_grad_input": lambda: Case(normal(2, 8, 6, 6), normal(8, 4, 3, 3), input_shape=[(2, 4, 6, 6)],
                                      **{name: values[:1] for name, values in _CONVOLUTION.items()}),
    "conv2d_grad_weight": lambda: Case(normal(2, 8, 6, 6), normal(2, 4, 6, 6), weight_shape=[(8, 4, 3, 3)],
                                       **{name: values[:1] for name, values in _CONVOLUTION.items()}),
    "conv2d_grad_parameters": lambda: Case(normal(2, 8, 6, 6), normal(2, 4, 6, 6), weight_shape=[(8, 4, 3, 3)],
                                           **{name: values[:1] for name, values in _CONVOLUTION.items()}),
    "max_pool2d": lambda: Case(images(), **_WINDOW, dilation=[(1, 1), (2, 1)], ceil_mode=[False, True], relu=[False, True],
                               winners=[False, True]),
    "adaptive_max_pool2d": lambda: Case(images(), output_size=[(2, 2), (3, 2)]),
    "max_pool2d_grad": lambda: Case(images(2, 4, 3, 3), _places(), input_shape=[(2, 4, 6, 6), (2, 4, 6, 7)], relu=[False, True],
                                    window=[None, ((2, 2), (2, 2), (0, 0), (1, 1))]),
    "max_pool2d_gather": lambda: Case(images(), _places()),
    "avg_pool2d": lambda: Case(images(), **_WINDOW, ceil_mode=[False, True], count_include_pad=[True, False],
                               divisor_override=[None, 3]),
    "avg_pool2d_grad": lambda: Case(images(2, 4, 3, 3), input_shape=[(2, 4, 6, 6), (2, 4, 7, 6)], kernel_size=[(2, 2), (2, 1)],
                                    stride=[(2, 2)], padding=[(0, 0)], ceil_mode=[False, True], count_include_pad=[True, False],
                                    divisor_override=[None, 3]),
    "adaptive_avg_pool2d": lambda: Case(images(), output_size=[(2, 2), (3, 2)]),
    "adaptive_avg_pool2d_grad": lambda: Case(images(2, 4, 3, 3), input_shape=[(2, 4, 6, 6), (2, 4, 5, 6)],
                                             channels_last=[False, True]),
    **{name: lambda: Case(normal(6, 8), **_AXES) for name in "mean nansum max min norm2 logsumexp any all argmax argmin".split()},
    **{f"{name}_with_indices": lambda: Case(normal(6, 8), **_AXES) for name in ("max", "min")},
    **{name: lambda: Case(normal(6, 8), **_AXES, dtype=[None, np.dtype(np.float32)]) for name in ("sum", "prod")},
    **{name: lambda: Case(normal(6, 8), **_AXES, correction=[1, 0]) for name in ("var", "std", "var_mean", "std_mean")},
    "norm": lambda: Case(normal(6, 8), **_AXES, order=[3, 1.5, 1]),
    "norm2_grad": lambda: Case(normal(6, 1), normal(6, 8), normal(6, 1), axis=[(1,), None], keepdims=[True]),
    "norm_grad": lambda: Case(normal(6, 1), normal(6, 8), abs(normal(6, 1)), axis=[(1,), None], keepdims=[True], order=[3, 1.5, 1]),
    "extreme": lambda: Case(normal(6, 8), **_AXES, smallest=[False, True], sizes=[False, True]),
    "extreme_grad": lambda: Case(normal(6, 1), normal(6, 8), normal(6, 1), abs(normal(6, 1)), axis=[(1,), None], keepdims=[True],
                                 rule=["max", "amax", "norm"]),
    "index_put": lambda: Case(normal(6, 8), normal(1), np.array([0, 2, 5]), dims=[(0,), (1,)], accumulate=[False, True], **_ORDER),
    "scatter_new": lambda: Case(normal(1), np.array([0, 2, 5]), shape=[(6, 8), (7, 8)], dims=[(0,), (1,)], unique=[True, False],
                                **_ORDER),
    "scatter": lambda: Case(normal(6, 6), _SQUARE, normal(6, 6), axis=[0, 1], accumulate=[False, True], **_ORDER),
    "scatter_reduce": lambda: Case(normal(6, 6), _SQUARE, normal(6, 6), axis=[0, 1], reduce=["prod", "amax", "amin"], **_ORDER),
    "bag_edges": lambda: Case(np.array([0, 2, 5]), count=[6, 7], include_last=[False, True]),
    "bag_indices": lambda: Case(_EDGES, count=[6, 7]),
    "bag_lengths": lambda: Case(_EDGES, dtype=_FLOATS),
    "bag_sums": lambda: Case(normal(6, 8), np.array([0, 5, 2, 2, 0, 1]), _EDGES, normal(6), None),
    "bag_maxima": lambda: Case(normal(6, 8), np.array([0, 5, 2, 2, 0, 1]), _EDGES),
    "gather_grad": lambda: Case(normal(6, 6), _SQUARE, shape=[(6, 6), (7, 6)], axis=[0, 1], unique=[False, True], **_ORDER),
    "place": lambda: Case(normal(6, 1), np.array([[0], [5], [2], [2], [0], [1]]), shape=[(6, 6), (6, 7)], axis=[1]),
    "grid_sample_grad": lambda: Case(
        images(2, 4, 3, 3), images(), normal(2, 3, 3, 2) / 2, mode=["bilinear", "nearest"], padding_mode=["zeros", "border"],
        align_corners=[False, True], with_input=[True, False], with_grid=[True, False]),
    "ctc_loss": lambda: Case(normal(6, 2, 4) - 3, np.array([[1, 2], [3, 1]]), np.array([6, 5]), np.array([2, 1]), blank=[0, 2],
                             zero_infinity=[False, True], with_grad=[True, False]),
    "recurrence": lambda: Case(normal(6, 16), normal(16, 4), None, normal(2, 4), normal(2, 4), mode=["LSTM"],
                               batch_sizes=[(2, 2, 2)], reverse=[False, True]),
    "recurrence_grad": lambda: Case(normal(6, 4), normal(2, 4), None, normal(12, 4), normal(6, 16), normal(6, 4), None, mode=["GRU"],
                                    batch_sizes=[(2, 2, 2)], reverse=[False, True]),
    "copy": lambda: Case(normal(4, 6), axes=[None, (1, 0)]),
    "cast": lambda: Case(normal(4, 6), dtype=[np.dtype(np.float16), np.dtype(np.float64)]),
    **{name: lambda: Case(normal(4, 6), normal(4, 6), normal(4, 6), axis=[1, 0]) for name in ("concatenate", "stack")},
    "where": lambda: Case(normal(4, 6) > 0, normal(4, 6), normal(4, 6)),
    "masked_fill": lambda: Case(normal(4, 6), normal(6) > 0, normal(1)),
    "fill": lambda: Case(normal(4, 6), value=[2.5, 0.0, -0.0]),
    "check_bounds": lambda: Case(np.arange(5), low=[0, -1], high=[5, 6], message=["{value} of {limit}", "{limit}, {value}"]),
    "check_nonzero": lambda: Case(np.arange(1, 5), message=["zero", "none"]),
    "matmul": lambda: Case(normal(2, 5, 5), normal(2, 5, 5), transpose_a=[False, True], transpose_b=[False, True]),
    "linear": lambda: Case(normal(2, 3, 5), normal(4, 5), normal(4)),
    "linear_relu": lambda: Case(normal(2, 3, 5), normal(8, 5), normal(8)),
    "linear_gelu": lambda: Case(normal(2, 3, 5), normal(8, 5), normal(8), keep=[True, False]),
    **{f"perceptron_{name}": lambda: Case(normal(2, 3, 5), normal(8, 5), normal(8), normal(4, 8), normal(4), keep=[True, False])
       for name in ("relu", "gelu")},
    "perceptron_grad": lambda: Case(normal(2, 3, 4), normal(2, 3, 5), normal(2, 3, 8), normal(2, 3, 8), normal(8, 5), normal(4, 8),
                                    activation=["gelu"], needs=[(True,) * 5, (False, True, True, False, True)]),
    "linear_grad": lambda: Case(normal(2, 3, 4), normal(2, 3, 5), normal(4, 5), with_bias=[True, False]),
    "grid_sample": lambda: Case(images(), normal(2, 3, 3, 2) / 2, mode=["bilinear", "nearest"], padding_mode=["zeros", "border"],
                                align_corners=[False, True]),
}
