"""Classification with a weighted sum of the kernels of several formulas."""
