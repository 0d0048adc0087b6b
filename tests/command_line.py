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
