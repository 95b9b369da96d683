"""One clock orders graph nodes and in-place writes: a saved tensor is stale if it was written after its node was made."""
import itertools

tick = itertools.count(1).__next__
last_write = 0  # the time of the last write to any tensor: nodes made since need no check of their saved tensors
any_inference = False  # whether any tensor was made in inference_mode: until then, saved tensors need no check for it
any_guarded = False  # whether there was any, or a complex conjugate: until then, writes need no check for them
levels = 0  # function transforms that are under way, in all threads
