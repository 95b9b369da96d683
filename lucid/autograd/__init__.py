"""Automatic differentiation: gradient modes, `backward` and `grad`, user-defined functions and gradient checks."""
from . import functional as functional
from .engine import backward, grad
from .function import Function, once_differentiable
from .grad_mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["Function", "GradcheckError", "backward", "detect_anomaly", "enable_grad", "functional", "grad", "gradcheck",
           "gradgradcheck", "inference_mode", "is_anomaly_enabled", "no_grad", "once_differentiable",
           "set_detect_anomaly", "set_grad_enabled"]
