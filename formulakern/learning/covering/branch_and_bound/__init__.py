"""Rule lists by branch and bound: antecedents, bounds, and the compiled search."""
