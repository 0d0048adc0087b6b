"""Mixed-norm problems over a directed acyclic graph of features."""
