"""Plain English: phrases that a native reader stumbles over, each with what to write instead."""

import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("agnograd", "backends", "plugins", "docs", "examples", "benchmarks", "tools")
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")),
    *(
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".md")
    ),
]
OURS = r"(?:agnograd|Python|NumPy|SciPy|PyTorch|JAX|Dask|CuPy|autograd|Chainer|MyGrad)"


class Phrase(NamedTuple):
    """A pattern, what to write instead, why, and texts that it does and does not match."""

    pattern: str
    instead: str
    why: str
    bad: str
    good: str


PHRASES = [
    Phrase(
        r"(?<!\bleave )(?<!\bleaves )(?<!\bleft )(?<!\bleave it )(?<!\bstand )(?<!\bstands )"
        r"\balone\b",
        "only, before what it limits",
        "after its noun, `alone` is solemn, and it is easily read as `by itself`",
        "it takes integers alone",
        "what it leaves alone",
    ),
    Phrase(
        r"(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|less\b|fewer\b|different\b|doubt\b)[a-z]",
        "is not a …",
        "`is no X` is an emphatic denial (`he is no fool`), not a statement of fact",
        "an index that is no number",
        "there is no number, and it is no longer one",
    ),
    Phrase(
        r"\bwithout a word\b",
        "silently",
        "only people leave without a word",
        "it is dropped without a word",
        "a line without words",
    ),
    Phrase(
        rf"(?<!\bone)(?<!\bconjugates) of {OURS}'s(?= own[.,;:)]|[.,;:)]|$"
        r"| (?:which|or|that|where|and|is|are|in|by|to|for|from|as|has|have|with)\b)",
        "a NumPy …",
        "the double possessive is for people (`a friend of Anna's`)",
        "a scalar of NumPy's, or a number",
        "the names of NumPy's functions",
    ),
    Phrase(
        r"\berror that says (?:so|it)\b|\bis an error that says\b"
        r"|\bto ask(?: \w+){1,7} (?:is|can be) an error\b",
        "asking for … raises an error",
        "an error is raised; it is not what someone does",
        "it is an error that says so",
        "it raises an error that says what is missing",
    ),
    Phrase(
        r"\bthat there (?:is|are) (?:none|several|no \w+) (?:is|are|ends|warns|raises)\b",
        "if there is none, …",
        "a clause as the subject of a sentence has to be read twice",
        "that there is none is an error",
        "it says that there is none",
    ),
    Phrase(
        r"\b(?:hear|hears|heard|told) of\b",
        "is notified of",
        "programs do not hear of events",
        "a plugin that hears of passes",
        "a plugin that is told which pass it is",
    ),
    Phrase(
        r"\bbelongs? into\b",
        "must be inside; goes into",
        "one belongs in a place, or to someone",
        "it belongs into the block",
        "it belongs to the block",
    ),
    Phrase(
        r"\banother one than\b|\banother \w+ than\b",
        "a different … from",
        "`another` takes no `than`",
        "if it is another one than usual",
        "another one, larger than usual",
    ),
    Phrase(
        r"\bby turns\b",
        "alternately; in interleaved runs",
        "`by turns` is for moods",
        "measured by turns",
        "they take turns",
    ),
    Phrase(r"\banew\b", "again", "it is literary", "it is drawn anew", "it is drawn again"),
    Phrase(
        r"\bwhat there is\b|\bthat there (?:is|are)(?: not)?(?=[.,;:)]|$)",
        "what is available; that exists",
        "`there is` cannot end a clause without sounding like a proverb",
        "it lists those that there are.",
        "it says that there are two.",
    ),
    Phrase(
        r"\bin (?:its|their) turn\b",
        "in turn; then",
        "`in its turn` is when a queue reaches it",
        "which in its turn calls it",
        "each in turn",
    ),
    Phrase(
        r"\binside of\b",
        "inside",
        "`of` adds nothing",
        "passes inside of a pass",
        "passes inside a pass",
    ),
]


def words_of(path):
    """Return the prose of a file in one line, and for each character of it the line that it is in.

    Of a program that is its comments and strings. What is in backquotes is left out.
    """
    source = path.read_text(encoding="utf-8")
    prose = source
    if path.suffix == ".py":
        lines = [[" "] * len(line) for line in source.splitlines(keepends=True)]
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT or "STRING" in tokenize.tok_name[token.type]:
                _copy(token, lines)
        prose = "\n".join("".join(line) for line in lines)
    prose = re.sub(r"(`+)[^`]+\1", lambda found: re.sub(r"[^\n]", "~", found[0]), prose)
    text, numbers, number = [], [], 1
    for character in prose:
        number += character == "\n"
        if not character.isspace() or (text and text[-1] != " "):
            text.append(" " if character.isspace() else character)
            numbers.append(number)
    return "".join(text), numbers


def _copy(token, lines):
    """Copy a comment or a string to its place, without quotes and hashes around it."""
    (row, column), _ = token.start, token.end
    text = token.string
    if re.match(r"[rR]?[fF]", text):  # whose fields are tokens of their own from Python 3.12 on
        text = re.sub(r"\{[^{}\n]*\}", lambda field: " " * len(field[0]), text)
    for k, line in enumerate(text.split("\n")):
        place = column if k == 0 else 0
        bare = re.sub(r"^[#rRbBfF]*(?=['\"])|[\"#]|^'|'$", lambda m: " " * len(m[0]), line)
        lines[row - 1 + k][place : place + len(line)] = bare


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.instead)
def test_a_phrase_is_told_from_good_english(phrase):
    assert re.search(phrase.pattern, phrase.bad)
    assert not re.search(phrase.pattern, phrase.good)


def test_prose_is_comments_and_strings(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('"""One is\n    no `is no` two."""\nalone = f"{alone} is" " no"  # three\n')
    text, numbers = words_of(path)
    assert " ".join(text.split()) == "One is no ~~~~~~~ two. is no three"
    assert [numbers[text.index(word)] for word in ("One", "no", "three")] == [1, 2, 3]


def test_no_phrase_sounds_translated():
    found = []
    for path in FILES:
        text, numbers = words_of(path)
        for phrase in PHRASES:
            for match in re.finditer(phrase.pattern, text, re.IGNORECASE):
                place = f"{path.relative_to(ROOT)}:{numbers[match.start()]}"
                around = text[max(match.start() - 30, 0) : match.end() + 20]
                found.append(f"{place}: {around!r}: write {phrase.instead!r}: {phrase.why}")
    assert not found, "\n".join(found)
