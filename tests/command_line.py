"""Running the command in tests, and a small table for it."""

from formulakern.cli import main

FRUIT = "colour,size,ripe,class\n" + "".join(
    f"{colour},{size},{size % 2},{'apple' if colour == 'red' else 'pear'}\n"
    for size in range(1, 13)
    for colour in ("red", "green", "?")
)


def run(capsys, *arguments):
    """(exit status, standard output, standard error)"""
    status = main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


def explained(model, row):
    """The text about a row that ``explain`` prints: the reasons, and the likely classes."""
    text = str(model.explain(row))
    if not hasattr(model, "predict_proba") or "probability" in text:
        return text
    shares = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
    likely = sorted(shares, key=shares.get, reverse=True)[:3]
    return f"{text}\nprobability: {', '.join(f'{name} {shares[name]:.1%}' for name in likely)}"
