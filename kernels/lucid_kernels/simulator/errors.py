"""The exceptions of the simulator."""

from __future__ import annotations


class SimulatorError(RuntimeError):
    """A kernel did something wrong while it ran: a fault, a deadlock, a race, a divergent barrier, a bad launch."""


class CompileError(RuntimeError):
    """A CUDA source could not be compiled, or what is needed to compile it (g++, the CUDA headers) is missing."""


class ResourceError(CompileError, SimulatorError):
    """A kernel needs more shared memory than a device has."""


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""
