"""Rules as a function of Python that needs nothing else."""
