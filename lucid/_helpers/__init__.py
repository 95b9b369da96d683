"""Helpers of programs that are no operations, by the names that PyTorch has in its own namespace.

`checks`: errors for what is not true.
`settings`: switches of the process.
`version`: what lucid is and stands on.
`numbers`: arithmetic of Python's numbers, as programs for PyTorch's compilers write it.
"""
