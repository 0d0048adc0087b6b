"""The largest distance of two approximate support vector machines, from their duality gaps."""

import numpy as np

from formulakern.learning.kernel_machines import classification


def apart(K, signs, C, machines, lengths):
    """The largest difference of decisions on rows with these K(z, z) that the gaps allow.

    With w* optimal, ½‖w − w*‖² is at most the optimum less the dual objective at w, and the optimum
    at most any primal objective.  |⟨w − w*, φ(z)⟩| ≤ ‖w − w*‖·√K(z, z), and intercepts, which solve
    for the rows of training, differ by no more.
    """
    problem, found = classification(signs, np.full(len(signs), C)), []
    for machine in machines:
        beta = np.zeros(len(signs))
        beta[machine.support_] = machine.dual_coef_[0]
        found.append(problem.values(beta, K @ beta))
    primal = min(values.primal for values in found)
    excess = [max(0.0, primal - values.dual) for values in found]
    longest = max(lengths.max(), K.diagonal().max())
    return 2 * np.sqrt(2 * np.array(excess) * longest).sum() + 1e-12 * np.abs(K).max()
