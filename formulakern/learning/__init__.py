"""The algorithms of the learners, without scikit-learn."""
