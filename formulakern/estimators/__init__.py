"""Estimators in the style of scikit-learn, for encoding, classification and evaluation."""
