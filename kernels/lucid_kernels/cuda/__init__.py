"""CUDA kernels and their launchers. Importing a module of this package imports cupy; the package itself does not."""
