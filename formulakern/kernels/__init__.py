"""What users hold: kernels with algebra, inspection and a place in scikit-learn."""
