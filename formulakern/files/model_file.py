"""A fitted model as a JSON file: a header, a digest, and the state of the model."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from formulakern.errors import DataError
from formulakern.files.names import known_names
from formulakern.files.plain import Reader, Writer, canonical
from formulakern.files.replacing import replacing

__all__ = ["load", "save"]

#: The format that is written and read.
FORMAT = "formulakern/model/1"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file of plain JSON, which :func:`formulakern.load` reads.

    The file has the parameters, the encoder and what was learned: formulas and rules as text,
    arrays as lists of numbers (a float as the shortest decimal number that is read as the same
    float).  A model that is read predicts the same, to the last bit of its numbers, and is
    written as the same bytes.  The file replaces what was there when it is complete.

    Parameters
    ----------
    path : str or path
        Of the file, ``model.json`` for example.

    Raises
    ------
    DataError
        If a parameter is an object that such files do not hold, as a foreign encoder.

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
            "deeply to be written. Give plain values."
        ) from None
    header = {
        "format": FORMAT,
        "class": type(model).__name__,
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
        Of a file that ``save`` wrote.

    Returns
    -------
    estimator
        Fitted as it was.

    Raises
    ------
    DataError
        If the file is no such file, is damaged, or has a format that is not known here.

    Notes
    -----
    Only the listed classes of this library, and a few of scikit-learn's, are made of what is read.
    The digest tells damage; it is no signature.

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
    try:
        whole = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise DataError(
            f"{os.fspath(path)!r} is no JSON, or damaged. Give a file that save wrote."
        ) from None
    if not isinstance(whole, dict) or not str(whole.get("format")).startswith("formulakern/"):
        raise DataError(f"{os.fspath(path)!r} is no model. Give a file that save wrote.")
    if whole["format"] != FORMAT:
        raise DataError(
            f"{os.fspath(path)!r} has the format {whole['format']!r}; this version reads {FORMAT}. "
            "Save the model again with this version."
        )
    damaged = DataError(f"{os.fspath(path)!r} is damaged. Save the model again.")
    try:
        digest = hashlib.sha256(
            canonical(whole["model"]).encode(errors="surrogatepass")
        ).hexdigest()
        if digest != whole["digest"]:
            raise damaged
        model = Reader(known_names())(whole["model"])
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError, RecursionError):
        raise damaged from None
    if not hasattr(getattr(model, "estimator", model), "save"):  # of a calibrated model
        raise damaged
    return model
