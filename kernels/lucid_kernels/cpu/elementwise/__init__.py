"""Operations element by element.

`elementwise`: activations and their gradients, and arithmetic with broadcasting.
`fused`: a formula (`lucid_kernels.expression`) in one pass over memory.
`source`: the Python text of formulas.
`operation`: one operation on large arrays, as a formula.
`ternary`: choices by masks and operations of three operands.
`special`, `special_binary`: special functions of one and two arguments.
`sincos`: sine and cosine.
`ufunc_loops`: NumPy's own loops on all threads.
`chain`: NumPy's own loops in a row.
`cast`: conversion of dtypes.
`float8`: conversion of floating-point numbers of 8 bits.

`fused` writes the text of a kernel, a line for each step, and finds the compiled code again by the hash of the text; scalars
are arguments. Each operation is rounded by itself, so a formula gives what its operations give one by one; half precision is
rounded once, at the end. A call costs 5 to 6 us, recorded 7 to 8, and 11 to 16 more backward, so formulas of four operations
pay from some 3,000 elements on (9,000 with all gradients).

Masks choose bits without a branch, which a mask without a pattern would mislead. NumPy's float32 exponentials, logarithms
and trigonometric functions are up to 4 units in the last place off with AVX-512, PyTorch's 0.5 to 0.9: large arrays take the
functions of `math` instead.
"""
from ..runtime import numba_import as numba_import
