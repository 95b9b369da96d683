"""Operations that NumPy and CuPy compute alike."""
