"""The heaviest conjunctions, by exact branch and bound."""
