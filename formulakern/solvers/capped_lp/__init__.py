"""Linear programs over the capped simplex: the dual of the 1-norm support vector machine."""
