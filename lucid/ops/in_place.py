"""The functions whose names end in `_`, such as ``lucid.exp_(x)``: the methods of that name, called as functions."""
from __future__ import annotations

from typing import Any

from ..tensor import Tensor

_methods: Any = Tensor  # for type checkers, which do not know the methods that lucid.ops attaches

abs_ = _methods.abs_
acos_ = _methods.acos_
acosh_ = _methods.acosh_
addmv_ = _methods.addmv_
arccos_ = _methods.arccos_
arccosh_ = _methods.arccosh_
arcsin_ = _methods.arcsin_
arcsinh_ = _methods.arcsinh_
arctan_ = _methods.arctan_
arctanh_ = _methods.arctanh_
asin_ = _methods.asin_
asinh_ = _methods.asinh_
atan_ = _methods.atan_
atanh_ = _methods.atanh_
ceil_ = _methods.ceil_
clamp_ = _methods.clamp_
clamp_max_ = _methods.clamp_max_
clamp_min_ = _methods.clamp_min_
clip_ = _methods.clip_
conj_physical_ = _methods.conj_physical_
cos_ = _methods.cos_
cosh_ = _methods.cosh_
deg2rad_ = _methods.deg2rad_
detach_ = _methods.detach_
erf_ = _methods.erf_
erfc_ = _methods.erfc_
exp2_ = _methods.exp2_
exp_ = _methods.exp_
expm1_ = _methods.expm1_
fill_ = _methods.fill_
fix_ = _methods.fix_
floor_ = _methods.floor_
frac_ = _methods.frac_
gcd_ = _methods.gcd_
i0_ = _methods.i0_
index_put_ = _methods.index_put_
lcm_ = _methods.lcm_
ldexp_ = _methods.ldexp_
log10_ = _methods.log10_
log1p_ = _methods.log1p_
log2_ = _methods.log2_
log_ = _methods.log_
logit_ = _methods.logit_
nan_to_num_ = _methods.nan_to_num_
neg_ = _methods.neg_
negative_ = _methods.negative_
rad2deg_ = _methods.rad2deg_
reciprocal_ = _methods.reciprocal_
relu_ = _methods.relu_
round_ = _methods.round_
rsqrt_ = _methods.rsqrt_
sigmoid_ = _methods.sigmoid_
sin_ = _methods.sin_
sinc_ = _methods.sinc_
sinh_ = _methods.sinh_
sqrt_ = _methods.sqrt_
square_ = _methods.square_
tan_ = _methods.tan_
tanh_ = _methods.tanh_
trunc_ = _methods.trunc_
xlogy_ = _methods.xlogy_
zero_ = _methods.zero_
