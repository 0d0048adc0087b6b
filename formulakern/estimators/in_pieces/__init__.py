"""What estimators are told about rows that lie in pieces, such as their classes and weights."""
