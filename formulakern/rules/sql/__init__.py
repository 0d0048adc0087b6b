"""SQL of the conditions that rules are, in the dialects of several databases."""
