"""What libraries take from `torch.utils.data._utils.collate` beside its functions."""
from __future__ import annotations

import re

__all__ = ["default_collate_err_msg_format", "np_str_obj_array_pattern"]

default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
np_str_obj_array_pattern = re.compile("[SaUO]")  # the kinds of NumPy's dtypes that are no numbers
