"""The features of a formula kernel, one column each: listed or sampled, and evaluated."""
