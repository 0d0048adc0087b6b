"""The heaviest instances of a formula, by exact branch and bound."""
