"""The Choquet kernel, on rows of non-negative numbers."""
