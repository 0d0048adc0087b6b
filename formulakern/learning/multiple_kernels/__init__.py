"""Weights of several kernels, learnt: margins of hulls, l_p-norm multiple kernel learning."""
