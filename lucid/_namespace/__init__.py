"""How lucid's public names are made, wrapped and looked up; nothing here computes.

`builtins`: functions that do not become methods where a class has them as attributes.
`callers`: the `stacklevel` of warnings, so that they show the line of the user.
`einops_package`: registers lucid's tensors with the package einops.
`foreign`: arguments of other classes that override functions (`__torch_function__`): the call is deferred to them.
`forwarding`: wrappers that accept further keywords, in a single Python frame.
`dtype_attributes`: PyTorch's attributes of dtypes.
`interception`: functions that get other code while a mode, such as autocast, is on.
`keywords`: NumPy's names of arguments, and those of every function that makes a tensor.
`lazy`: imports on first use.
`absent`: errors for names that lucid lacks, which say what to use instead.
`old_names`: modules under their former names.
`pytorch_modules`: modules of PyTorch that lucid has under another name, or has not split off.
"""
