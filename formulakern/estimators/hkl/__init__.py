"""Hierarchical kernel learning as scikit-learn estimators."""
