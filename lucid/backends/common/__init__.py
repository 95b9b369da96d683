"""What NumPy and CuPy compute alike.

A module's `table(xp, …)` binds its operations to either. The GPU has them as they are. Where the CPU has a function of its own,
in the module of the same name in `cpu`, that one calls them for the arrays that it does not serve.
"""
