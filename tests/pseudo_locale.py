"""Run a command with every catalogue text in marked letters: what stays unmarked was formed in code, or is a name.

python tests/pseudo_locale.py check study.toml
"""

import string
from string import Formatter

LETTERS = str.maketrans(
    {letter: chr(0x1D5BA + i) for i, letter in enumerate(string.ascii_lowercase)}
    | {letter: chr(0x1D5A0 + i) for i, letter in enumerate(string.ascii_uppercase)}
)


def marked(text):
    """Write the letters of a text, but not its parameters, in a sans-serif alphabet."""
    made = ""
    for literal, place, form, conversion in Formatter().parse(text):
        made += literal.translate(LETTERS).replace("{", "{{").replace("}", "}}")
        if place is not None:
            form = form.translate(LETTERS) if form and "/" in form else form
            made += f"{{{place}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}}}"
    return made


if __name__ == "__main__":
    from sfumato.texts import catalogue

    plain = catalogue._flat
    catalogue._flat = lambda entries, above="": ((id, marked(text)) for id, text in plain(entries, above))
    catalogue.texts.cache_clear()

    from sfumato.__main__ import main

    main()
