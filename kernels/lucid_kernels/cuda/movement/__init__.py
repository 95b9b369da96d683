"""Copies: elements moved to other places.

`copies`: copies and casts of any strides, and fills.
`channels`: arrays with their channels last.
`transpose`: copies of arrays whose neighbours in memory are others than those of the result, by tiles.
`concatenate`: arrays one after the other.
`float8`: floating-point numbers of 8 bits from float32, and back.
"""
