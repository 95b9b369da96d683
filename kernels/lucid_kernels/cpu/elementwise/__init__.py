"""Operations element by element: loops by hand, formulas, casts."""
