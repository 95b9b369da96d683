"""What a bench needs to measure the configurations of convolutions and to write them to `tuning/`.

    for name in tuner.candidates(case):
        arrays = tuner.operands(case)
        tuner.run(case, name, *arrays)            # the result; time this
    tuning.write(tensor_cores.capability(), {tuner.key(case): tuner.entry(best)})
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucid_kernels.cuda.convolution import configurations, conv2d, layout, tensor_cores
from lucid_kernels.cuda.convolution import problem as _problem
from lucid_kernels.cuda.convolution.problem import Geometry, Problem, Sizes, geometry_of
from lucid_kernels.cuda.runtime import launch

SORTS = ("forward", "input gradient", "weight gradient")
SIMT = "conv2d.cu"
_NAME = re.compile(r"tile (\d+) in (\d+) slices")


class Case(NamedTuple):
    """One of `SORTS` of a convolution. float32 is TF32 or exact as `lucid.backends.cudnn.allow_tf32` is when it is asked for."""

    sort: str
    input_shape: Sizes
    weight_shape: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int
    dtype: Any
    last: bool  # whether the channels lie last

    @property
    def geometry(self) -> Geometry:
        """That of the convolution."""
        return geometry_of(self.input_shape, self.weight_shape, self.stride, self.padding, self.dilation, self.groups)

    @property
    def output_shape(self) -> Sizes:
        """The shape of the convolution's result."""
        out = self.geometry.out_size[5 - len(self.input_shape) :]
        return (self.input_shape[0], self.weight_shape[0], *out)

    @property
    def problem(self) -> Problem:
        """The product that computes it."""
        return _problem.problems(np.dtype(self.dtype), self.geometry)[SORTS.index(self.sort)]


def candidates(case: Case) -> tuple[str, ...]:
    """The names of the configurations of a case that fit the device; none where tensor cores do not serve."""
    if not tensor_cores.serve(np.dtype(case.dtype), case.geometry):
        return ()
    problem = case.problem
    memory = tensor_cores.shared_memory(cupy.cuda.runtime.getDevice())
    found = dict.fromkeys((configurations.TILES.index(tile), slices)
                          for _, tile, slices in problem.choices(memory, tensor_cores.warpgroups()))
    names = tuple(f"tile {tile} in {slices} slices" for tile, slices in found)
    return (*names, SIMT) if problem.exact and len(case.input_shape) == 4 else names


def operands(case: Case, seed: int = 0) -> tuple[Any, Any]:
    """Random arrays: input and weight, gradient of the output and weight, or gradient of the output and input."""
    rng = np.random.default_rng(seed)
    shapes = {"forward": (case.input_shape, case.weight_shape), "input gradient": (case.output_shape, case.weight_shape),
              "weight gradient": (case.output_shape, case.input_shape)}[case.sort]
    images = (True, case.sort == "weight gradient")  # a weight lies as it does in a module
    return tuple(_array(rng.standard_normal(shape, np.float32), case, image)
                 for shape, image in zip(shapes, images, strict=True))


def _array(values: np.ndarray, case: Case, image: bool) -> Any:
    if not (case.last and image):
        return cupy.asarray(values.astype(case.dtype))
    turned = cupy.asarray(np.ascontiguousarray(np.moveaxis(values, 1, -1)).astype(case.dtype))
    return turned.transpose(0, values.ndim - 1, *range(1, values.ndim - 1))


def run(case: Case, name: str, a: Any, b: Any) -> Any:
    """The result of `operands`, computed by a configuration of `candidates`."""
    if name == SIMT:
        return _run_simt(case, a, b)
    tile, slices = configurations.TILES[entry(name)[0]], entry(name)[1]
    if case.sort == "weight gradient":
        result = launch.empty(case.weight_shape, a.dtype)
        tensor_cores.grad_weight(a, b, result, case.geometry, tile, slices)
        return result
    gradient = case.sort == "input gradient"
    result = layout.result_like(None, case.input_shape if gradient else case.output_shape, a)
    tensor_cores.product(a, b, None, result, case.geometry, gradient, tile, slices)
    return result


def _run_simt(case: Case, a: Any, b: Any) -> Any:
    attributes: Any = {"stride": case.stride, "padding": case.padding, "dilation": case.dilation, "groups": case.groups}
    if case.sort == "forward":
        return conv2d.simt_conv2d(a, b, None, **attributes)
    if case.sort == "input gradient":
        return conv2d.simt_conv2d_grad_input(a, b, input_shape=case.input_shape, **attributes)
    return conv2d.simt_conv2d_grad_weight(a, b, weight_shape=case.weight_shape, **attributes)


def key(case: Case) -> str:
    """The name of a case in a tuning table: cases with one name are computed alike."""
    return case.problem.key


def entry(name: str) -> list[int]:
    """What stands for a configuration in a tuning table."""
    if name == SIMT:
        return [configurations.MEASURED_SIMT, 1]
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is not the name of a configuration")
    return [int(found[1]), int(found[2])]
