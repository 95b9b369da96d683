"""Operations element by element, and formulas."""
