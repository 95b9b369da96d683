"""Fourier transforms.

`fft`: discrete transforms over one and more dimensions.
`fft_frequencies`: frequencies and shifts.
`short_time_fourier`: `stft` and `istft`.
`windows`: Hann, Hamming and other windows.
"""
