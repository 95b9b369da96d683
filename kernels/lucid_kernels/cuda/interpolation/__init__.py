"""Images read at any coordinates.

`grid_sample`: forward and backward.
"""
