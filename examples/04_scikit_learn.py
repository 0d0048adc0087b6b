"""One kernel object in seven of scikit-learn's methods
====================================================

Use a kernel of formulakern wherever scikit-learn takes a kernel function of two tables.  The data
are the end positions of tic-tac-toe; half of them are training rows.  The script saves
output/04_scikit_learn.png if matplotlib is installed.
"""

import numpy as np
from protocol import OUTPUT, plotting
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import formulakern as fk

# %%
# Half of the boards are for training and half for testing, encoded as propositions.
boards, winner = fk.datasets.tic_tac_toe()
X = fk.PropositionEncoder().fit_transform(boards)
x_won = winner == "positive"
split = train_test_split(X, x_won, test_size=0.5, random_state=0, stratify=x_won)
X_train, X_test, y_train, y_test = split

# %%
# The features are three different propositions that are true together; the kernel is normalised.
k = fk.kernel("a & b & c", variables="distinct").normalized()
print(f"{X.shape[0]} boards, {X.shape[1]} propositions, kernel {k}\n")


def report(name, result):
    print(f"{name:>28}  {result}")


# %%
# Classifiers.
nystroem = Nystroem(kernel=k, n_components=150, random_state=0)
classifiers = {
    "(no kernel) logistic": LogisticRegression(),
    "SVC": SVC(kernel=k, C=10),
    "Nystroem + logistic": make_pipeline(nystroem, LogisticRegression(C=100)),
    "GaussianProcessClassifier": GaussianProcessClassifier(kernel=10 * k),
}
for name, model in classifiers.items():
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    report(name, f"{100 * accuracy:.1f} % of the other half right")

# %%
# Regression on "x won" as a number; the Gaussian process also returns its uncertainty.
ridge = KernelRidge(kernel=k, alpha=0.01).fit(X_train, y_train)
report("KernelRidge", f"R² = {r2_score(y_test, ridge.predict(X_test)):.3f}")
process = GaussianProcessRegressor(kernel=k, alpha=0.01, normalize_y=True).fit(X_train, y_train)
mean, deviation = process.predict(X_test, return_std=True)
report("GaussianProcessRegressor", f"R² = {r2_score(y_test, mean):.3f}, ± {deviation.mean():.2f}")

# %%
# Without classes: clusters, and a map.
groups = SpectralClustering(2, affinity=k, random_state=0).fit(X).labels_
alike = {name: adjusted_rand_score(boards[name], groups) for name in boards.names}
nearest = max(alike, key=alike.get)
report("SpectralClustering", f"2 groups, nearest to {nearest} (Rand index {alike[nearest]:.2f})")

pca = KernelPCA(2, kernel=k).fit(X)
flat = pca.transform(X)
report("KernelPCA", f"{len(flat)} boards on {len(np.unique(flat.round(6), axis=0))} points")

# %%
# The map separates the boards that x won from the others, although it did not use the classes.
plt = plotting()
if plt is not None:
    OUTPUT.mkdir(exist_ok=True)
    figure, axes = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
    for won, colour in ((False, "#d1495b"), (True, "#00798c")):
        label = "x won" if won else "x did not win"
        axes.scatter(*flat[x_won == won].T, s=22, c=colour, label=label, alpha=0.6, lw=0)
    axes.set(title="End positions of tic-tac-toe, kernel PCA under a & b & c")
    axes.set(xlabel="first axis", ylabel="second axis", aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(OUTPUT / "04_scikit_learn.png", dpi=120)
    print(f"\nSaved {OUTPUT / '04_scikit_learn.png'}")
