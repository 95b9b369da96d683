"""Operations element by element.

`elementwise`: activations and their gradients, and arithmetic with broadcasting.
`special`: special functions, in double, rounded once.
`ternary`: elements of one array or another, by a mask.
`fused`: a formula in one pass over memory.
`strides`: the layout of arrays that are broadcast together, and the launch of a kernel over them.
"""
