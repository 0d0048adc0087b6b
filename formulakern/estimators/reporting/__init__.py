"""What estimators hand to a report: what was learned, how good it is, why, and of what."""
