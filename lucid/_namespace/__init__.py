"""How the public names of lucid come about.

`builtins`: functions that do not become methods where a class has them as attributes.
`callers`: which line of the user a warning is about.
`einops_package`: lucid's tensors in the package einops.
`foreign`: objects that are no tensors, whose classes override functions.
`forwarding`: keywords beside those of a function, in one frame.
`dtype_attributes`: PyTorch's attributes of dtypes.
`interception`: what comes before functions while it is on.
`keywords`: NumPy's names of arguments, and those of every function that makes a tensor.
`lazy`: what is imported when it is first asked for.
`absent`: errors that say what to do instead of what lucid lacks.
`old_names`: modules by the names that they had before.
`pytorch_modules`: modules of PyTorch that lucid has under another name, or has not split off.
"""
