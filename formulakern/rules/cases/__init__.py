"""Which rows there can be, as far as conditions on columns can tell them apart."""
