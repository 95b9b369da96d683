"""``cupy.ReductionKernel``: a reduction of the user's expressions, which the simulator compiles and checks as any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels, parameters
from .array import ndarray

_BLOCK = 128
_TEXT = r"""
#define REDUCE(a, b) ({reduce_expr})
#define POST_MAP(a) ({post_map_expr})
typedef {reduce_type} _type_reduce;
extern "C" __global__ void {name}({declarations}) {{
  {unpacking}
  __shared__ __align__(16) char _sdata_raw[{block} * sizeof(_type_reduce)];
  _type_reduce* _sdata = reinterpret_cast<_type_reduce*>(_sdata_raw);
  unsigned int _tid = threadIdx.x;
  for (ptrdiff_t _i = blockIdx.x; _i < _out_ind.size(); _i += gridDim.x) {{
    _type_reduce _s = _type_reduce({identity});
    for (ptrdiff_t _J = _tid, _j = _i + _J * _out_ind.size(); _j < _in_ind.size();
         _J += {block}, _j += {block} * _out_ind.size()) {{
      _in_ind.set(_j);
      {inputs}
      _type_reduce _a = static_cast<_type_reduce>({map_expr});
      _s = REDUCE(_s, _a);
    }}
    _sdata[_tid] = _s;
    __syncthreads();
    for (unsigned int _half = {block} / 2; _half; _half >>= 1) {{
      if (_tid < _half) {{
        _type_reduce _a = _sdata[_tid], _b = _sdata[_tid + _half];
        _sdata[_tid] = REDUCE(_a, _b);
      }}
      __syncthreads();
    }}
    if (_tid == 0) {{
      _s = _sdata[0];
      _out_ind.set(_i);
      {outputs}
      POST_MAP(_s);
    }}
  }}
}}
"""


class ReductionKernel:
    """A kernel that maps its elements, reduces them along axes and maps the results."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: tuple[str, ...] = (),
    ) -> None:
        parameters.check_name(name)
        self.in_params = parameters.parse(in_params, is_input=True)
        self.out_params = parameters.parse(out_params, is_input=False)
        self.nin = len(self.in_params)
        self.nout = len(self.out_params)
        self.nargs = self.nin + self.nout
        self.map_expr = map_expr
        self.reduce_expr = reduce_expr
        self.post_map_expr = post_map_expr
        self.identity = "" if identity is None else str(identity)
        self.name = self.__name__ = name
        self.reduce_type = reduce_type or self.out_params[0].c_type
        self.reduce_dims = reduce_dims
        self.preamble = preamble
        self.options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Reduce the inputs along `axis` (all axes by default), into `out` where that is given.

        keepdims: keep the axes with length one. Raises TypeError, ValueError, AxisError.
        """
        out, axis = kwargs.pop("out", None), kwargs.pop("axis", None)
        keepdims, stream = kwargs.pop("keepdims", False), kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        given = list(args[self.nin :])
        if out is not None:
            if self.nout != 1:
                raise NotImplementedError("'out' is for a kernel of one output")
            if given:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            given = [out]
        shape, inputs = parameters.broadcast(self.in_params, parameters.checked(args[: self.nin]), sized=False)
        reduced, kept = _axes(axis, len(shape))
        letters = parameters.decide_types(self.in_params, self.out_params, inputs, given)
        out_shape = tuple(
            length if place in kept else 1 for place, length in enumerate(shape) if keepdims or place in kept
        )
        outputs = parameters.out_arrays(self.out_params, given, letters, out_shape, sized=False)
        if 0 in shape and not self.identity:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        if 0 not in out_shape:
            self._launch(shape, (*reduced, *kept), len(reduced), inputs, outputs, letters, stream)
        return outputs[0] if self.nout == 1 else tuple(outputs)

    def _launch(
        self,
        shape: tuple[int, ...],
        order: tuple[int, ...],
        reduced: int,
        inputs: list[Any],
        outputs: list[ndarray],
        letters: Any,
        stream: Any,
    ) -> None:
        """Run over the axes in `order`, of which the first `reduced` are added up."""
        if order != tuple(range(len(order))) and any(parameter.raw for parameter in self.in_params):
            raise NotImplementedError("Illegal conditions")
        used = [value for value in (*inputs, *outputs) if isinstance(value, ndarray)]
        arguments = parameters.Arguments(letters)
        elements = []
        for parameter, value in zip(self.in_params, inputs, strict=True):
            looped = isinstance(value, ndarray) and not parameter.raw
            arguments.add(parameter, value.transpose(order) if looped else value)
            elements += [parameters.reference(parameter, "_in_ind")] * looped
        in_shape = [shape[axis] for axis in order]
        results = []
        for parameter, value in zip(self.out_params, outputs, strict=True):
            arguments.add(parameter, value if parameter.raw else value.reshape(in_shape[reduced:]))
            results += [parameters.reference(parameter, "_out_ind")] * (not parameter.raw)
        arguments.add_indexer("_in_ind", in_shape)
        arguments.add_indexer("_out_ind", in_shape[reduced:])
        typedefs, declarations, unpacking, packed = arguments.finish()
        function = f"{self.name}__reduction"  # the name alone may be that of a function in a header
        code = f"{parameters.HEADERS}{typedefs}{self.preamble}\n" + _TEXT.format(
            reduce_expr=self.reduce_expr, post_map_expr=self.post_map_expr, reduce_type=self.reduce_type,
            name=function, declarations=declarations, unpacking=unpacking, block=_BLOCK, identity=self.identity,
            inputs=" ".join(elements), map_expr=self.map_expr, outputs=" ".join(results),
        )  # fmt: skip
        count = int(np.prod(in_shape[reduced:], dtype=np.int64))
        kernels.launch_generated(code, function, self.options, (count,), (_BLOCK,), packed, used, stream)


def _axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that are reduced and those that are kept. Raises AxisError, ValueError."""
    if axis is None:
        return tuple(range(ndim)), ()
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    reduced = tuple(sorted(np.lib.array_utils.normalize_axis_index(place, ndim) for place in axes))
    if len(set(reduced)) != len(reduced):
        raise ValueError("duplicate value in 'axis'")
    return reduced, tuple(place for place in range(ndim) if place not in reduced)
