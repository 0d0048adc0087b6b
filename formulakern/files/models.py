"""Fitted models as files of plain JSON, read without running anything in them."""

from __future__ import annotations

import copyreg
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from inspect import getattr_static
from pathlib import Path
from typing import Any

import numpy as np

from formulakern.errors import DataError, FormulaKernError
from formulakern.files.replacing import replacing
from formulakern.registry import LEARNERS
from formulakern.syntax.formula import Formula
from formulakern.syntax.leaves import Comparison, Level
from formulakern.syntax.parser import parse, parse_rule
from formulakern.text import clip

#: The classes that files may name, by module; files do not name modules.  ``name=Class`` is a class
#: with another name in files.
CLASSES = {
    "builtins": "range slice",
    "datetime": "date datetime time timedelta timezone",
    "formulakern.encoding.packed": "PackedTable",
    "formulakern.encoding.fitted": "Encoding",
    "formulakern.encoding.plan": "ColumnPlan Degrees",
    "formulakern.encoding.strict": "RealTable",
    "formulakern.estimators.choquet.machines": "AttributeScaling",
    "formulakern.estimators.choquet.set_function": "SetFunction",
    "formulakern.estimators.encoder": "PropositionEncoder",
    "formulakern.estimators.features": "FormulaFeatures",
    "formulakern.estimators.hkl.base": "GrowthHistory",
    "formulakern.estimators.rule_path": "RulePath SizedModel",
    "formulakern.estimators.multiple_kernels": "FormulaWeights",
    "formulakern.estimators.prl.base": "EpochHistory",
    "formulakern.estimators.rule_lists.classifier": "ListHistory",
    "formulakern.estimators.search.estimator": "SearchResults",
    "formulakern.estimators.svm.extraction": "TrainedModel",
    "formulakern.kernels.algebra": "NormalizedKernel ProductKernel ScaledKernel SumKernel",
    "formulakern.kernels.boolean": "BalancedKernel ClausesOfClauses Conjunctions "
    "CountedKernel Powers Subsets TanimotoKernel",
    "formulakern.kernels.choquet": "ChoquetKernel SubsetsUpTo",
    "formulakern.kernels.formula": "FormulaKernel",
    "formulakern.kernels.graded": "GradedKernel",
    "formulakern.kernels.strings": "KMerKernel Strings WeightedDegreeKernel",
    "formulakern.learning.covering.optimal": "ListProgress",
    "formulakern.learning.formula_features": "ChosenFeatures FeatureList Function RowLengths",
    "formulakern.learning.hkl.active_set": "GrownSolution GrowthStep",
    "formulakern.learning.hkl.problem": "HierarchicalModel ScoreFunction",
    "formulakern.learning.kernel_machines": "PairwiseModel",
    "formulakern.learning.prl.column_generation": "Epoch",
    "formulakern.rules.decision": "ClassRule",
    "formulakern.rules.ensemble": "RuleEnsemble ScoreCard",
    "formulakern.rules.features": "Conjunction Degree=LinearFeature Instance LinearTerm Monomial",
    "formulakern.rules.rule": "Rule",
    "formulakern.rules.class_rules": "RuleList RuleSet",
    "formulakern.rules.voting": "WeightedRule",
    "formulakern.solvers.hierarchical.solve": "HierarchicalSolution",
    "formulakern.syntax.formula": "Constant Variable _assemble",
    "formulakern.syntax.leaves": "ColumnName Comparison Level",
    "formulakern.syntax.temporal": "Temporal",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.model_selection._split": "KFold RepeatedKFold RepeatedStratifiedKFold StratifiedKFold",
}


def known_names() -> dict[str, str]:
    """Map the names in a file to ``"module:name"``, including the learners."""
    listed = {}
    for module, names in CLASSES.items():
        for written, _, renamed in (name.partition("=") for name in names.split()):
            listed[written] = f"{module}:{renamed or written}"
    return listed | {row.estimator: f"{row.module}:{row.estimator}" for row in LEARNERS.values()}


#: Modules of the classes that rules need without their learner.
RULE_MODULES = (
    "builtins",
    "datetime",
    "formulakern.encoding",
    "formulakern.estimators.rule_path",
    "formulakern.rules",
    "formulakern.syntax",
)


def rule_names() -> dict[str, str]:
    """Map the names in a file to ``"module:name"``, with stand-ins for classes of learning."""
    stand_ins = {row.estimator: "SavedRules" for row in LEARNERS.values()}
    stand_ins["PropositionEncoder"] = "SavedEncoder"
    return {
        name: target
        if target.startswith(RULE_MODULES)
        else f"formulakern.rules.saved:{stand_ins.get(name, 'IgnoredState')}"
        for name, target in known_names().items()
    }


#: Types that parameters may be.
PLAIN_TYPES = (bool, int, float, str, object)
#: Kinds of NumPy dtypes in files: bool, integers, floats, text, instants and their differences.
KINDS = "biufUmM"


def canonical(plain: Any) -> str:
    """Return the canonical text of a plain value: no blanks, and only numbers that JSON has.

    >>> canonical({"a": [1, 2.5, None]})
    '{"a":[1,2.5,null]}'
    """
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Writer:
    """Converter of objects to plain values.

    None, truth values, integers, finite floats, texts and lists are written unchanged.  Anything
    else becomes a JSON object with one member, whose name is its kind.  An object or array that
    occurs again is written as a number: the position of its first occurrence in the order in which
    they end.  Values of a ``cached_property`` are written only if the class has its own
    ``__getstate__``.

    Examples
    --------
    >>> Writer({})((1, float("nan"), np.array([1, 2], dtype=np.int8)))
    {'tuple': [1, {'float': 'nan'}, {'array': ['|i1', [2], [1, 2]]}]}
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = {target: name for name, target in names.items()}
        self._known: dict[int, int] = {}
        self._held: list[Any] = []  # keeps objects alive, so that ids stay unique
        self._open: set[int] = set()
        self._kinds: dict[type, Callable[[Any], Any]] = {
            float: str,
            tuple: lambda held: list(map(self, held)),
            dict: lambda held: [[self(name), self(value)] for name, value in held.items()],
            set: lambda held: sorted(map(self, held), key=canonical),
            frozenset: lambda held: sorted(map(self, held), key=canonical),
            bytes: bytes.hex,
        }

    def __call__(self, value: Any) -> Any:
        """Return the plain value."""
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return list(map(self, value))
        if kind in self._kinds:
            return {kind.__name__: self._kinds[kind](value)}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"scalar": np.dtype(value).str}
        if isinstance(value, type) and value in PLAIN_TYPES:
            return {"type": value.__name__}
        if isinstance(value, np.generic):
            return {"number": self._of_array(np.asarray(value))}
        if isinstance(value, Formula) and (text := _text_of(value)) is not None:
            return text
        return self._once(value)

    def _once(self, value: Any) -> Any:
        number = self._known.get(id(value))
        if number is not None:
            return {"again": number}
        if id(value) in self._open:
            raise DataError(f"{clip(repr(value), 80)} contains itself, and cannot be written.")
        self._open.add(id(value))
        if isinstance(value, np.ndarray):
            plain: Any = {"array": self._of_array(value)}
        elif type(value).__module__.startswith("scipy.sparse"):
            whole = value.tocsr()
            parts = (whole.data, whole.indices, whole.indptr)
            plain = {"csr": [list(map(int, whole.shape)), *map(self, parts)]}
        else:
            plain = {"object": self._of_object(value)}
        self._open.remove(id(value))
        self._known[id(value)] = len(self._held)
        self._held.append(value)
        return plain

    def _of_array(self, array: Any) -> list[Any]:
        """Return the dtype, the shape, and all values in row order."""
        if type(array) is not np.ndarray or array.dtype.kind not in KINDS + "O":
            raise DataError(
                f"{type(array).__name__} of {array.dtype} cannot be written; expected an array of "
                "numbers, truth values, text or dates."
            )
        values: list[Any]
        flat = array.ravel().astype(array.dtype.newbyteorder("="))
        if array.dtype.kind in "mM":
            values = flat.view(np.int64).tolist()
        elif array.dtype.kind == "O":
            values = list(map(self, flat.tolist()))
        elif array.dtype.kind == "f":
            values = [x if math.isfinite(x) else str(x) for x in flat.tolist()]
        else:
            values = flat.tolist()
        order = ["F"] if array.ndim > 1 and array.flags.fnc else []
        return [array.dtype.newbyteorder("<").str, list(array.shape), values, *order]

    def _of_object(self, value: Any) -> list[Any]:
        """Return the name of the class or function, its arguments, and the state."""
        try:
            made = value.__reduce_ex__(4)
            function, arguments, state, items, pairs = (*made, None, None, None)[:5]
        except (TypeError, ValueError):  # for example a generator or an open file
            raise self._unknown(value) from None
        if items is not None or pairs is not None:
            raise self._unknown(value)
        new = function is copyreg.__newobj__  # type: ignore[attr-defined]
        if new:
            function, *arguments = arguments
        target = f"{function.__module__}:{function.__qualname__}"
        if target not in self._names:
            raise self._unknown(value)
        plain: list[Any] = [self._names[target] if new else f"{self._names[target]}()"]
        plain.append(list(map(self, arguments)))
        if state is not None:
            plain.append(self._of_state(type(value), state))
        return plain

    def _of_state(self, kind: type, state: Any) -> Any:
        own, slots = state if isinstance(state, tuple) else (state, None)
        chosen = str(getattr(kind.__getstate__, "__module__", "")).startswith("formulakern.")
        written: dict[str, Any] = {}
        for name, held in sorted({**(own or {}), **(slots or {})}.items()):
            if chosen or not isinstance(getattr_static(kind, name, None), cached_property):
                with _inside(name):
                    written[name] = self(held)
        return written

    def _unknown(self, value: Any) -> DataError:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        return DataError(
            f"a model file cannot hold {kind}, such as {clip(repr(value), 60)}. Use numbers, texts "
            "and objects of this library as parameters, or write the model by joblib.dump."
        )


class Reader:
    """Converter of the plain values of :class:`Writer` to objects.

    Examples
    --------
    >>> Reader({})({"tuple": [1, {"array": ["<i8", [2], [1, 2]]}]})
    (1, array([1, 2]))
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._made: list[Any] = []
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "float": float,
            "tuple": lambda held: tuple(map(self, held)),
            "dict": lambda held: {self(name): self(value) for name, value in held},
            "set": lambda held: set(map(self, held)),
            "frozenset": lambda held: frozenset(map(self, held)),
            "bytes": bytes.fromhex,
            "number": lambda held: self._array(*held)[()],
            "dtype": np.dtype,
            "scalar": lambda held: np.dtype(held).type,
            "type": {kind.__name__: kind for kind in PLAIN_TYPES}.__getitem__,
            "rule": parse_rule,
            "formula": parse,
            "again": self._made.__getitem__,
            "array": lambda held: self._array(*held),
            "csr": self._csr,
            "object": self._object,
        }

    def __call__(self, plain: Any) -> Any:
        """Return the object."""
        if isinstance(plain, list):
            return list(map(self, plain))
        if not isinstance(plain, dict):
            return plain
        if len(plain) != 1:
            raise DataError(f"{clip(repr(plain), 60)} does not have exactly one member")
        ((name, held),) = plain.items()
        if name not in self._kinds:
            raise DataError(f"{name!r} is not a kind of value")
        made = self._kinds[name](held)
        if name in ("array", "csr", "object"):
            self._made.append(made)
        return made

    def _csr(self, held: list[Any]) -> Any:
        from scipy.sparse import csr_array

        (shape, *parts) = held
        return csr_array(tuple(map(self, parts)), shape=tuple(shape))

    def _object(self, held: list[Any]) -> Any:
        name, arguments, *state = held
        if (known := name.removesuffix("()")) not in self._names:
            raise DataError(f"{known!r} is not a class of model files")
        module, _, member = self._names[known].partition(":")
        function = getattr(import_module(module), member)
        given = list(map(self, arguments))
        made = function(*given) if name.endswith("()") else function.__new__(function, *given)
        for written in state:
            if any(key.startswith("__") for key in written):
                raise DataError(f"{name!r} has attributes that files may not contain")
            found = {key: self(value) for key, value in written.items()}
            if hasattr(made, "__setstate__"):
                made.__setstate__(found)
            else:
                for key, value in found.items():
                    object.__setattr__(made, key, value)
        return made

    def _array(self, dtype: str, shape: list[int], values: list[Any], order: str = "C") -> Any:
        kind = np.dtype(dtype)
        if kind.kind == "O":
            flat = np.empty(len(values), dtype=object)
            flat[:] = list(map(self, values))
        elif kind.kind in "mM":
            flat = np.array(values, dtype=np.int64).view(kind)
        elif kind.kind in KINDS:
            flat = np.array(values, dtype=kind)
        else:
            raise DataError(f"arrays of {dtype} are not supported")
        whole = flat.reshape(shape)
        return np.asfortranarray(whole) if order == "F" else whole


def _text_of(formula: Formula) -> dict[str, str] | None:
    """Return the formula as text if the text is read as the same formula, otherwise None.

    The text of an ordered category lacks the order of all categories.
    """
    leaves = (leaf for leaf in formula.leaves if isinstance(leaf, Comparison))
    if any(isinstance(leaf.value, Level) for leaf in leaves):
        return None
    text = str(formula)
    for language, read in (("rule", parse_rule), ("formula", parse)):
        try:
            if read(text) == formula:
                return {language: text}
        except FormulaKernError:
            continue
    return None


@contextmanager
def _inside(name: str) -> Iterator[None]:
    """Add the name of an attribute to the message of a DataError."""
    try:
        yield
    except DataError as error:
        text = str(error)
        place = text.partition(": ")[0]
        if place.startswith("in "):
            raise DataError(f"in {name}.{text.removeprefix('in ')}") from None
        raise DataError(f"in {name}: {text}") from None


#: The format of the files.
FORMAT = "formulakern/model/1"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file of plain JSON, which :func:`formulakern.load` reads.

    The file holds the parameters, the encoder and the learned values: formulas and rules as text,
    arrays as lists of numbers, and each float as the shortest decimal that is read as the same
    float.  The model that is read back gives the same predictions to the last bit, and is written
    as the same bytes.  An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    path : str or path
        The path of the file, such as ``model.json``.

    Raises
    ------
    DataError
        If a parameter cannot be written to such a file, for example an encoder of another library.

    Examples
    --------
    >>> import os, tempfile
    >>> import formulakern as fk
    >>> X, y = fk.datasets.tic_tac_toe()
    >>> model = fk.HKLClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     same = fk.load(os.path.join(folder, "model.json"))
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    try:
        body = canonical(Writer(known_names())(model))
    except RecursionError:
        raise DataError(
            f"a parameter of this {type(model).__name__} contains itself, or is nested too "
            "deeply to be written. Pass plain values."
        ) from None
    header = {
        "format": FORMAT,
        "class": type(model).__name__,
        **({"text": repr(model)} if hasattr(model, "rules_") else {}),
        "digest": hashlib.sha256(body.encode(errors="surrogatepass")).hexdigest(),
    }
    whole = f'{canonical(header)[:-1]},\n"model":{body}}}\n'
    with replacing(path) as file:
        file.write_bytes(whole.encode(errors="surrogatepass"))


def load(path: str | os.PathLike[str]) -> Any:
    """Read the model that ``save`` wrote; nothing in the file is run.

    Parameters
    ----------
    path : str or path
        The path of a file that ``save`` wrote.

    Returns
    -------
    estimator
        The fitted model.  A model that ``formulakern learn`` wrote has the attribute ``training_``,
        a dict: ``"data"`` is the name of the file, ``"date"`` the day as text, ``"rows"`` and
        ``"columns"`` the size of the table, ``"digest"`` its :attr:`Table.digest`, and
        ``"scores"`` the held-out scores, such as ``{"5 folds": {"hkl": {"accuracy": [0.9, …]}}}``
        with one number per fold.

    Raises
    ------
    DataError
        If the file is not a model, is damaged, or has another format.

    Notes
    -----
    Only listed classes of this library, the standard library and scikit-learn are built.
    The digest detects damage; it is not a signature.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from formulakern.estimators.encoder import PropositionEncoder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.json")
    ...     PropositionEncoder().fit({"odor": ["foul", "none"]}).save(path)
    ...     load(path).get_feature_names_out().tolist()
    ['odor = foul', 'odor = none']
    """
    whole = _content(path)
    model = _built(path, whole, known_names())
    if not hasattr(getattr(model, "estimator", model), "save"):  # of a calibrated model
        raise _damaged(path)
    return model


def load_rules(path: str | os.PathLike[str]) -> Any:
    """Read a model as :func:`load` does, but without its learner if its rules are sufficient.

    Returns
    -------
    SavedRules or estimator
        SavedRules if the rules are on the named columns of a table.  It predicts and explains like
        the estimator, without scikit-learn and without the modules of the learner.

    Raises
    ------
    DataError
        If the file is not a model, is damaged, or has another format.
    """
    whole = _content(path)
    if isinstance(whole.get("text"), str):
        model = _built(path, whole, rule_names())
        if getattr(model, "suffices", False):
            model.text = whole["text"]
            return model
    return load(path)


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the JSON object of a model file; raise DataError for any other file."""
    try:
        whole = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise DataError(
            f"{os.fspath(path)!r} is not JSON, or damaged. Give a file that save wrote."
        ) from None
    if not isinstance(whole, dict) or not str(whole.get("format")).startswith("formulakern/"):
        raise DataError(f"{os.fspath(path)!r} is not a model. Give a file that save wrote.")
    if whole["format"] != FORMAT:
        raise DataError(
            f"{os.fspath(path)!r} has the format {whole['format']!r}; this version reads {FORMAT}. "
            "Save the model again with this version."
        )
    return whole


def _damaged(path: str | os.PathLike[str]) -> DataError:
    return DataError(f"{os.fspath(path)!r} is damaged. Save the model again.")


def _built(path: str | os.PathLike[str], whole: dict[str, Any], names: Mapping[str, str]) -> Any:
    """Build the model from the classes in ``names``; raise DataError if the file is damaged."""
    try:
        digest = hashlib.sha256(
            canonical(whole["model"]).encode(errors="surrogatepass")
        ).hexdigest()
        if digest != whole["digest"]:
            raise _damaged(path)
        return Reader(names)(whole["model"])
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError, RecursionError):
        raise _damaged(path) from None
