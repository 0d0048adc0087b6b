"""Support vector machines with formula kernels, and the rules inside them."""
