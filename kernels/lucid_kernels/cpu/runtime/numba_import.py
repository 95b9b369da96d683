"""Numba, imported while Ctrl-C waits: what has been imported by half cannot be imported again."""
from .signals import deferred

with deferred():
    import numba  # noqa: F401
