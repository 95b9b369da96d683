"""``cupy.ElementwiseKernel``: a kernel of the user's expression, which the simulator compiles and checks as any other."""

from __future__ import annotations

import warnings
from typing import Any

from . import kernels, parameters
from .array import ndarray


class ElementwiseKernel:
    """A kernel that computes `operation` at every place of its broadcast arguments."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        options: tuple[str, ...] = (),
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        parameters.check_name(name)
        self.in_params = parameters.parse(in_params, is_input=True)
        self.out_params = parameters.parse(out_params, is_input=False)
        self.params = self.in_params + self.out_params
        if any(parameter.name == "i" for parameter in self.params):
            raise ValueError("Can not use 'i' as a parameter name")
        self.nin = len(self.in_params)
        self.nout = len(self.out_params)
        self.nargs = self.nin + self.nout
        self.operation = operation
        self.name = self.__name__ = name
        self.reduce_dims = reduce_dims
        self.preamble = preamble
        self.no_return = no_return
        self.return_tuple = return_tuple
        self.options = options
        self.loop_prep = loop_prep
        self.after_loop = after_loop
        self._codes: dict[tuple[Any, ...], str] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel on its inputs, or on its inputs and outputs.

        size: of the loop, where all arrays are raw. block_size: threads of a block. stream: the current one by default.
        Raises TypeError, ValueError.
        """
        size, stream, block_size = kwargs.pop("size", -1), kwargs.pop("stream", None), kwargs.pop("block_size", 128)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or {self.nargs} "
                f"(with outputs), but given {len(args)}."
            )
        sized = size != -1
        shape, arguments = parameters.broadcast(self.params, parameters.checked(args), sized)
        shape = (size,) if sized else shape
        inputs, given = arguments[: self.nin], args[self.nin :]
        letters = parameters.decide_types(self.in_params, self.out_params, inputs, given)
        outputs = parameters.out_arrays(self.out_params, given, letters, shape, sized)
        if 0 not in shape:
            self._launch(shape, [*inputs, *outputs], letters, block_size, stream)
        if self.no_return:
            return None
        return outputs[0] if self.nout == 1 and not self.return_tuple else tuple(outputs)

    def _launch(self, shape: tuple[int, ...], values: list[Any], letters: Any, block_size: int, stream: Any) -> None:
        used = [value for value in values if isinstance(value, ndarray)]
        looped = [
            isinstance(value, ndarray) and not parameter.raw
            for parameter, value in zip(self.params, values, strict=True)
        ]
        if self.reduce_dims and all(
            value._array.flags.c_contiguous for value, loop in zip(values, looped, strict=True) if loop
        ):
            shape = (_product(shape),)
            values = [value.reshape(-1) if loop else value for value, loop in zip(values, looped, strict=True)]
        arguments = parameters.Arguments(letters)
        for parameter, value in zip(self.params, values, strict=True):
            arguments.add(parameter, value)
        arguments.add_indexer("_ind", shape)
        typedefs, declarations, unpacking, packed = arguments.finish()
        elements = [
            parameters.reference(parameter, "_ind")
            for parameter, loop in zip(self.params, looped, strict=True)
            if loop
        ]
        function = f"{self.name}__elementwise"  # the name alone may be that of a function in a header
        code = "\n".join(
            [
                parameters.HEADERS,
                typedefs,
                self.preamble,
                f'extern "C" __global__ void {function}({declarations}) {{',
                unpacking,
                f"{self.loop_prep};",
                "CUPY_FOR(i, _ind.size()) {",
                "_ind.set(i);",
                *elements,
                f"{self.operation};",
                "}",
                f"{self.after_loop};",
                "}",
            ]
        )
        self._codes.setdefault(tuple(array.dtype for array in used), code)
        count = _product(shape)
        grid, block = (-(-count // block_size),), (min(block_size, count),)
        kernels.launch_generated(code, function, self.options, grid, block, packed, used, stream)

    @property
    def cached_codes(self) -> dict[tuple[Any, ...], str]:
        """The text that has been compiled, by the dtypes of the arrays; the stand-in's, not CuPy's."""
        if not self._codes:
            warnings.warn(
                "No codes are cached because compilation is deferred until the first function call.", stacklevel=2
            )
        return dict(self._codes)

    @property
    def cached_code(self) -> str:
        """The first of `cached_codes`."""
        return next(iter(self.cached_codes.values()))


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for length in shape:
        result *= length
    return result
