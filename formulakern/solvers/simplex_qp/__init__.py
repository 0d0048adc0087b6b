"""Quadratic programs over the simplex: margins and enclosing balls."""
