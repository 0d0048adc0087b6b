"""Zero-sum matrix games."""
