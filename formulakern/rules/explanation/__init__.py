"""Why rows were predicted as they were: sums of weights, first rules of lists, votes of sets."""
