"""What reaches a terminal: no control sequence of the corpus, whatever the locale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_nb.cli.output import clean, clean_line
from tests.cli.conftest import Run, run_on_terminal

EVIL = (
    "# Evil \x1b]0;owned\x07heading\x9b31m\n\n"
    "kestrel \x1b[2J\x1b[31mred\x1b[0m \u202egnp.exe\u202c \x1bc \x07 \x85 \x90q\x9c\n"
)
UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLAIN_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
VERBS = [
    ["search", "kestrel"],
    ["match", "kestrel"],
    ["match", "kestrel", "--explain"],
    ["match", "kest\x1b[31mrel"],
    ["words"],
    ["sources"],
    ["stats"],
    ["show", "evil.md"],
    ["show", "no\x1b[31msuch\x9b31m\nfile"],
    ["index", "--verbose", "--reindex"],
    ["rm", "no\x1b]0;x\x07such"],
    ["ser\x1b[31mch"],
]


@pytest.fixture
def evil(run: Run, tmp_path: Path) -> None:
    """A corpus that attacks the terminal, by text, by heading, and by file name."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "evil.md").write_text(EVIL, encoding="utf-8")
    (folder / "name\x1b[31m\u202e\x9b1m\ttab.md").write_text(EVIL, encoding="utf-8")
    (folder / "skipped\x1b[31m.md").write_bytes(b"\xff\xfe\x00")
    assert run("index", "corpus").status == 0


@given(st.text(st.sampled_from("\x1b[]0;31mPX\\\x07\x9b\x90\x9c \n\tab\u202e\x00")))
def test_no_control_character_survives(text: str) -> None:
    """However sequences are nested or cut short; line breaks and tabs stay, and plain text too."""
    assert not UNWANTED.search(clean(text))
    assert not set("\n\t") & set(clean_line(text))
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        assert clean(text) == text


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("verb", VERBS, ids=ascii)
def test_no_verb_lets_a_sequence_through(run: Run, verb: list[str]) -> None:
    """Neither from the corpus nor from the command line, on stdout and on stderr."""
    done = run(*verb)
    assert not UNWANTED.search(done.out)
    assert not UNWANTED.search(done.err)


@pytest.mark.usefixtures("evil")
def test_programs_get_the_text_as_it_is(run: Run) -> None:
    """JSON escapes control characters itself; paths come verbatim."""
    hit = json.loads(run("search", "kestrel", "--under", "evil.md", "--json").out)["results"][0]
    assert "\x1b[2J" in hit["text"]
    assert "name\x1b[31m\u202e\x9b1m\ttab.md" in run("match", "kestrel", "--paths-only").out


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("verb", VERBS[:7], ids=ascii)
def test_a_terminal_gets_only_our_own_colours(tmp_path: Path, verb: list[str]) -> None:
    """What is left after our bold, yellow and reset is plain."""
    shown = run_on_terminal(*verb, cwd=tmp_path)
    assert not UNWANTED.search(re.sub(r"\x1b\[(0|1|33)?m", "", shown.out))


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C"}, PLAIN_LOCALE, {"PYTHONIOENCODING": "latin-1"}],
    ids=["C", "C without Python's mercy", "latin-1"],
)
def test_a_locale_that_cannot_show_the_text_is_no_crash(
    spawn: Run, handbook_store: Path, locale: dict[str, str]
) -> None:
    """People get the text, or escapes where the encoding cannot hold it; never a traceback."""
    for verb in (
        ["show", "guides/international/hyosho-core-kashidashi.md"],
        ["search", "kashidashi"],
        ["words", "--all"],
        ["sources"],
        ["match", "\udcff\udcfe"],
    ):
        done = spawn("--store", handbook_store, *verb, env=locale, encoding="latin-1")
        assert done.status == (2 if verb[0] == "match" else 0), done.err
        assert "Traceback" not in done.err


def test_programs_get_utf8_in_every_locale(spawn: Run, handbook_store: Path) -> None:
    """A cron job has no locale; what its programs read is the same."""
    query = ["--store", handbook_store, "words", "--json"]
    plain = spawn(*query)
    assert not plain.out.isascii()
    for locale in (PLAIN_LOCALE, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}):
        assert spawn(*query, env=locale) == plain


def test_a_bar_is_shown_on_a_terminal_only(spawn: Run, corpus: Path, tmp_path: Path) -> None:
    """Files, speed and time left while a pass runs; not a byte of it in a pipe."""
    shown = run_on_terminal("index", corpus, cwd=tmp_path)
    assert shown.status == 0
    assert "indexing" in shown.out
    assert "3 of 3 files" in shown.out
    assert "added 3" in shown.out
    again = spawn("index", corpus)
    assert "indexing" not in again.out
    assert again.err == ""


def test_a_narrow_terminal_folds_paths_and_cuts_nothing(
    handbook_store: Path, tmp_path: Path
) -> None:
    """No character of a path is lost to the width."""
    shown = run_on_terminal(
        "--store", handbook_store, "match", "hyosho", "--under", "guides", cwd=tmp_path
    )
    assert shown.status == 0
    assert "…" not in shown.out


def test_no_colour_where_it_is_not_wanted(ask: Run, handbook_store: Path, tmp_path: Path) -> None:
    """A pipe gets none."""
    assert "\x1b" not in ask("match", "frost").out
    assert (
        "\x1b[1m" in run_on_terminal("--store", handbook_store, "match", "frost", cwd=tmp_path).out
    )
