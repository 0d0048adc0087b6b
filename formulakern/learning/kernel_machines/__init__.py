"""Support vector machines of any kernel by decomposition of their dual problem: no Gram matrix."""
