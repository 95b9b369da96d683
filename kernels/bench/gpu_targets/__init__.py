"""What a GPU is measured by: targets of its own for the cases of `targets`, and cases that only a GPU has.

`bounds`: the most that the ratio to PyTorch should be.
`large_models`: training steps of ResNet-50 and of a GPT-2 in bfloat16.
`half_attention`: attention in bfloat16.
`memory_bound`: operations that only move memory, from 64 MiB.
"""

#: The files of this folder that hold cases, in the order of the table.
FAMILIES = ("large_models", "half_attention", "memory_bound")
