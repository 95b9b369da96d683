"""What lucid relies on in CuPy, written once: it runs on the real CuPy where there is a GPU, else on the stand-in.

It keeps the stand-in honest: a test that fails on one of the two shows a difference.
"""
