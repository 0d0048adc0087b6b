"""Spectrum and mismatch kernels against their definitions, by every road."""

import itertools

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulakern.errors import DataError, MagnitudeError, ParameterError
from formulakern.kernels import strings as module
from formulakern.kernels.strings import k_mers, mismatch, n_near, near, near_both, spectrum


def generated(rows: int, most: int, letters: str = "ACGT", least: int = 1, seed: int = 0):
    generator = np.random.default_rng([rows, most, seed])
    return [
        "".join(generator.choice(list(letters), generator.integers(least, most + 1)))
        for _ in range(rows)
    ]


@st.composite
def strings(draw, alphabet="AB"):
    k = draw(st.integers(1, 4))
    several = st.lists(st.text(alphabet, min_size=k, max_size=9), min_size=1, max_size=4)
    return draw(several), draw(several), k


@pytest.fixture(params=["dense", "sparse"])
def product(request, monkeypatch):
    """Either way to multiply counts, whatever they are."""
    monkeypatch.setattr(module, "ADDITIONS_PER_FEATURE", 1e9 if request.param == "dense" else 0)


@settings(max_examples=16)
@given(st.sampled_from(["a", "AB", "ACGT", "\U0001f600é\x00"]).flatmap(strings))
@pytest.mark.usefixtures("road", "product")
def test_generated_spectra_equal_the_definition(case):
    X, Z, k = case
    expected = np.array([[oracle.spectrum(x, z, k) for z in Z] for x in X])
    np.testing.assert_array_equal(spectrum(k)(X, Z), expected)
    expected = np.array([[oracle.spectrum(x, z, k) for z in X] for x in X])
    np.testing.assert_array_equal(spectrum(k)(X), expected)
    np.testing.assert_array_equal(spectrum(k).diagonal(X), np.diag(expected))


@settings(max_examples=14)
@given(strings("ABC"), st.integers(0, 4))
@pytest.mark.usefixtures("road")
@pytest.mark.parametrize(
    "limits", [{}, {"MAX_NEAR_PAIRS": 0}, {"MAX_NEAR_PAIRS": 0, "MAX_LISTED_K_MERS": 0}]
)
def test_generated_mismatches_equal_the_definition(limits, case, m):
    X, Z, k = case
    m = min(m, k)
    kernel = mismatch(k, m, alphabet="ABC")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(f"formulakern.kernels.strings.{name}", value)
        expected = np.array([[oracle.mismatch(x, z, k, m, "ABC") for z in Z] for x in X])
        np.testing.assert_array_equal(kernel(X, Z), expected)
        np.testing.assert_array_equal(kernel.diagonal(X), np.diag(kernel(X)))
        np.testing.assert_array_equal(kernel(X), kernel(X, X[:]))


@pytest.mark.parametrize(("k", "letters"), [(1, 2), (3, 1), (3, 2), (4, 3), (3, 4), (5, 2)])
def test_near_both_is_what_enumeration_finds(k, letters):
    words = np.array(list(itertools.product(range(letters), repeat=k)))
    apart = (words[:, None] != words[None]).sum(axis=2)
    for m in range(k + 1):
        common = (apart <= m).astype(int) @ (apart <= m)
        for a, b in itertools.product(range(len(words)), repeat=2):
            assert common[a, b] == near_both(int(apart[a, b]), k, m, letters)
        numbers = near(words, m, letters)
        assert numbers.shape[1] == n_near(k, m, letters) == near_both(0, k, m, letters)
        for a, found in enumerate(numbers.tolist()):
            assert sorted(found) == np.flatnonzero(apart[a] <= m).tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 7, 33, 64, 100])
def test_equal_k_mers_have_one_number(k, monkeypatch):
    """Equal k-mers have one number also if they are counted anew, as for a large alphabet."""
    texts = [*generated(3, 150, "AB", least=k), "A" * 150, "A" * 120]
    codes = np.array([ord(letter) - 65 for text in texts for letter in text], dtype=np.uint8)
    lengths = np.array([len(text) for text in texts])
    for root in (1 << 31, 4):
        monkeypatch.setattr(module, "ROOT", root)
        rows, places, numbers = k_mers(codes, lengths, k)
        whole = [text[i : i + k] for text in texts for i in range(len(text) - k + 1)]
        assert len(set(zip(whole, numbers.tolist(), strict=True))) == len(set(whole))
        assert len(set(whole)) == len(set(numbers.tolist()))
        joined = "".join(texts)
        assert [joined[i : i + k] for i in places] == whole
        assert np.bincount(rows).tolist() == (lengths - k + 1).tolist()


@pytest.mark.parametrize("shape", [(1, 1), (140, 30), (40, 300)])
def test_roads_agree_on_larger_lists(shape, monkeypatch):
    X, Z = generated(shape[0], 40, least=6), generated(shape[1], 30, "ACG", least=6, seed=1)
    roads = [
        {"ADDITIONS_PER_FEATURE": dense, "yes": yes}
        for dense, yes in itertools.product((0, 1e9), (False, True))
    ]
    for k in (spectrum(2), spectrum(6), mismatch(4, 1), mismatch(5, 2)):
        results = []
        for road in roads:
            monkeypatch.setattr(module, "ADDITIONS_PER_FEATURE", road["ADDITIONS_PER_FEATURE"])
            monkeypatch.setattr(
                "formulakern.compilation.CompiledFunction.pays", lambda *_, yes=road["yes"]: yes
            )
            results.append((k(X, Z), k(Z), k.normalized()(X)))
            K = results[0][1]
            np.testing.assert_array_equal(k.diagonal(Z), np.diag(K))
        for other in results[1:]:
            for one, two in zip(results[0], other, strict=True):
                np.testing.assert_array_equal(one, two)
        eigenvalues = np.linalg.eigvalsh(K)
        assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def test_no_mismatch_is_the_spectrum():
    X = generated(20, 30, least=5)
    np.testing.assert_array_equal(mismatch(4, 0)(X), spectrum(4)(X))
    # all k-mers are near to all: the number of k-mers of both, times A^k
    lengths = np.array([len(x) - 2 for x in X])
    np.testing.assert_array_equal(mismatch(3, 3)(X), np.outer(lengths, lengths) * 64)


def test_long_k_mers_that_no_number_holds():
    X = ["ACGT" * 30, "ACGT" * 29 + "ACGA", "TGCA" * 30]
    k = mismatch(100, 2)
    h = np.array([[sum(a != b for a, b in zip(x, z, strict=True)) for z in X] for x in X])
    windows = [[x[i : i + 100] for i in range(21)] for x in X]
    expected = [
        [
            sum(
                near_both(sum(a != b for a, b in zip(one, two, strict=True)), 100, 2, 4)
                for one, two in itertools.product(x, z)
            )
            for z in windows
        ]
        for x in windows
    ]
    assert h[0, 1] == 1
    np.testing.assert_allclose(k(X), np.array(expected, dtype=float), rtol=1e-14)


def test_k_mers_are_counted_once(monkeypatch):
    """For the values and the diagonal of a cosine."""
    calls = []

    def counting(codes, lengths, k):
        calls.append(k)
        return k_mers(codes, lengths, k)

    monkeypatch.setattr(module, "k_mers", counting)
    X = generated(5, 9, least=4)
    for k in (spectrum(2), mismatch(3, 1)):
        K = k.normalized()(X)
        np.testing.assert_allclose(np.diag(K), 1)
        assert calls == [k.length]
        calls.clear()


def test_dimensions():
    assert spectrum(3).dimension({None: 60, "alphabet": 4}) == 64
    assert mismatch(3, 1).dimension(60) == mismatch(3, 1).dimension({None: 2}) == 64
    with pytest.raises(ParameterError, match="depends on the size of the alphabet"):
        spectrum(3).dimension(60)
    with pytest.raises(ParameterError, match="the size of the alphabet=0"):
        spectrum(3).dimension({"alphabet": 0})


def test_closed_forms():
    assert str(spectrum(3).normalized().polynomial()) == "s/(sqrt(p)*sqrt(q))"
    assert str(mismatch(3, 1).polynomial()) == "10*s[0] + 4*s[1] + 2*s[2]"
    assert "p[0]" in str(mismatch(3, 1).normalized().polynomial())


# -- what is refused -------------------------------------------------------------------------------


def test_strings_that_are_too_short():
    with pytest.raises(DataError, match=r"row 1 of X has 2 letters, so it has no k-mer of fk.str"):
        spectrum(3)(["ACGT", "AC", "A"])
    with pytest.raises(DataError, match=r"row 0 of Z has 1 letters.*at least 2\. Choose a smaller"):
        mismatch(2, 1)(["ACGT"], ["A"])


def test_letters_that_are_not_in_the_alphabet():
    message = r"row 1 of X has the letter 'g' \(position 2\), .* alphabet='ACGT'.*alphabet='ACGTg'"
    with pytest.raises(DataError, match=message):
        mismatch(2, 1)(["ACGT", "ACgT"])
    with pytest.raises(DataError, match=r"row 0 of Z has the letter 'N' .*The letters of Z are"):
        mismatch(2, 1)(["ACGT"], ["AN"])
    assert mismatch(2, 1, alphabet="ACGTg")(["ACGT", "ACgT"])[0, 0] > 0


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", True, None])
def test_lengths_that_are_refused(k):
    for kind in (spectrum, lambda k: mismatch(k, 0)):
        with pytest.raises(ParameterError, match=r"k=.*; expected an integer, at least 1"):
            kind(k)


def test_parameters_that_are_refused():
    with pytest.raises(ParameterError, match="m=-1; expected an integer, at least 0"):
        mismatch(3, -1)
    with pytest.raises(ParameterError, match="m=4; expected at most k=3"):
        mismatch(3, 4)
    for alphabet in ("", "ACCG", None, ["A", "C"]):
        with pytest.raises(ParameterError, match="expected a str of different letters"):
            mismatch(3, 1, alphabet)
    with pytest.raises(MagnitudeError, match="Choose a smaller m"):
        mismatch(600, 600)(["A" * 600])
