"""The project's targets on a CPU: what a user gets, from the same code on lucid and on PyTorch.

Each case has its target, the most that the ratio of times may be. A case whose operation lucid does not have yet is
listed as missing.
"""

#: The files of this folder that hold cases, in the order of the table.
FAMILIES = ("chain", "activations", "softmax_rows", "normalizations", "pools", "reductions", "adam", "convolutions",
            "attention", "training")
