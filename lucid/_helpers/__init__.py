"""Functions of the namespace `torch` that are no operations on tensors.

`checks`: assertions, such as `_check`.
`settings`: switches of the process.
`version`: the version and how lucid was built.
`numbers`: `sym_int` and others: arithmetic of Python numbers, as programs for PyTorch's compilers write it.
"""
