"""Preference and rule learning as a scikit-learn classifier."""
