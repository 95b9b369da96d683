"""Helpers of training scripts, by the names of torch.utils. Imported when they are first asked for.

`checkpoint`: activations that are computed again.
"""
