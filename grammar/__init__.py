"""The language as Lark grammars, one file a layer; README.md is its reference."""
