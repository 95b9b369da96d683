"""Elements moved, and added where they are moved to.

`accumulate`: arrays with any strides added in place.
`concatenate`: arrays joined along a dimension.
`flip`: rows in reverse order.
`pad`: padded rows, in each mode.
`triangles`: `tril` and `triu`.
"""
from ..runtime import numba_import as numba_import
