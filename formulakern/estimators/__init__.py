"""Estimators in the manner of scikit-learn: encoding, classification, evaluation."""
