"""Elements in other places.

`copies`: copies and casts of any strides, and fills.
`concatenate`: arrays one after the other.
"""
