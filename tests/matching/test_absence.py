"""An empty answer says why: which word is absent, which never meet, what removed the rest."""

from __future__ import annotations

import time

import pytest

from knowledge_nb.matching.nearest import distance, nearest
from tests.matching.corpus import Corpus


def notes(corpus: Corpus, query: str, **options: object) -> str:
    result = corpus.enumerate(query, **options)
    assert result.matched == 0
    return "\n".join(result.notes)


def test_an_absent_word_and_its_neighbours(corpus: Corpus) -> None:
    """The absent word is named, with the nearest words of the corpus and their documents."""
    corpus.put("a.md", ([], ["the freezer hums"]))
    corpus.put("b.md", ([], ["two freezers and a frieze hum"]))
    text = notes(corpus, "freezr hum")
    assert "No document holds `freezr` in any form." in text
    assert "Nearest words: `freezer` (1 document), `freezers` (1 document), `frieze`" in text
    assert "2 documents hold the other terms." in text


@pytest.mark.parametrize(
    ("body", "query", "shown"),
    [
        ("send an email now", "e-mail", "Written as one word: `email` (1 document)"),
        (
            "send an e-mail now",
            "email",
            'Written with a hyphen or a space: `"e mail"` (1 document)',
        ),
        ("the sealock is shut", "sea lock", "Written as one word: `sealock` (1 document)"),
        ("the sealock is shut", '"sea lock"', "Written as one word: `sealock` (1 document)"),
        ("the sea lock is shut", "sealock", 'Written with a hyphen or a space: `"sea lock"`'),
        ("the sea-locks are shut", "sealock", ""),
    ],
)
def test_joined_and_parted_words(corpus: Corpus, body: str, query: str, shown: str) -> None:
    """`e-mail` and `email`, `sea lock` and `sealock` lead to each other."""
    corpus.put("a.md", ([], [body]))
    assert shown in notes(corpus, query)


def test_terms_that_never_meet(corpus: Corpus) -> None:
    """When every term occurs, the pairs that share no document are named with their sizes."""
    corpus.put("a.md", ([], ["brass lamp"]))
    corpus.put("b.md", ([], ["copper lamp"]))
    text = notes(corpus, "lamp brass copper")
    assert "no document holds both `brass` (1 document) and `copper` (1 document)" in text


def test_three_that_meet_two_by_two(corpus: Corpus) -> None:
    """When every pair meets, the term that empties the rest is named."""
    corpus.put("a.md", ([], ["brass lamp"]))
    corpus.put("b.md", ([], ["copper lamp"]))
    corpus.put("c.md", ([], ["copper brass"]))
    text = notes(corpus, "lamp brass copper")
    assert "of the 1 document with `lamp`, `brass` none holds `copper` (2 documents)" in text


def test_what_exclusions_removed(corpus: Corpus) -> None:
    """When exclusions took everything, each says how much."""
    corpus.put("a.md", ([], ["brass lamp"]))
    corpus.put("b.md", ([], ["copper lamp and ring"]))
    text = notes(corpus, "lamp -brass -copper -ring")
    assert "2 documents match without the exclusions" in text
    assert '`-"brass"` removes 1, `-"copper"` removes 1, `-"ring"` removes 1' in text


def test_a_phrase_whose_words_occur(corpus: Corpus) -> None:
    """A phrase that is nowhere is told from a word that is nowhere."""
    corpus.put("a.md", ([], ["the lamp of brass"]))
    said = "nowhere do they stand in this order next to each other within one heading or the text"
    assert said in notes(corpus, '"brass lamp"')
    text = notes(corpus, '"brass lampo"')
    assert "`lampo` occurs nowhere in the corpus. Nearest words: `lamp` (1 document)" in text


def test_markup_between_the_words_of_a_phrase_is_named(corpus: Corpus) -> None:
    """Where a tag or a link target parts two words, the note does not say that they are apart."""
    corpus.text(
        "a.md", "the <span x='y'>brass</span> ring, a [retention policy](p/r.md) document\n"
    )
    for query in ('"brass ring"', '"policy document"'):
        text = notes(corpus, query)
        assert "As in the source: a tag, a link target, a footnote mark or a list number" in text


def test_words_on_two_sides_of_a_heading_stand_next_to_each_other_in_no_text(
    corpus: Corpus,
) -> None:
    """The note speaks of one heading or one text, which is true across a heading, too."""
    corpus.text("a.md", "a body under\n\n# Closed heading\n\ntext\n")
    for query in ('"under closed"', '"heading text"'):
        assert "within one heading or the text below one" in notes(corpus, query)


def test_a_tag_inside_a_word_does_not_hide_it(corpus: Corpus) -> None:
    """What a reader sees as one word is one, and its place is that of the whole."""
    corpus.text("a.md", "# CO<sub>2</sub> levels\n\nun be<b>lie</b>vable H<sub>2</sub>O\n")
    for query in ("believable", "H2O", "heading:CO2", '"un believable h2o"'):
        assert [match.path for match in corpus.enumerate(query).matches] == ["a.md"]


def test_other_places_are_named(corpus: Corpus) -> None:
    """A word outside the scope, or outside the folder, is said to be there."""
    corpus.put("a/a.md", (["Lamps"], ["of brass"]))
    corpus.put("b/b.md", (["Rings"], ["of copper"]))
    assert "It is in the bodies of 1 document." in notes(corpus, "heading:brass")
    assert "It is in the headings of 1 document." in notes(corpus, "body:lamp")
    text = notes(corpus, "copper", under="a")
    assert "Under 'a': no document holds `copper` in any form. Outside it, 1 document" in text


def test_many_absent_words_are_all_named(corpus: Corpus) -> None:
    """The first few are explained, the others at least named."""
    corpus.put("a.md", ([], ["brass"]))
    text = notes(corpus, " ".join(f"absent{letter}word" for letter in "abcdefgh"))
    assert "Nor does any document hold `absentfword`, `absentgword`, `absenthword`." in text


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [
        ("lamp", "lamp", 0),
        ("lamp", "lamps", 1),
        ("lamp", "lmap", 1),
        ("form", "from", 1),
        ("lamp", "limps", 2),
        ("lamp", "brass", 3),
        ("", "ab", 2),
    ],
)
def test_distance(first: str, second: str, edits: int) -> None:
    """An insertion, deletion, substitution or swap is one; above the bound it is the bound + 1."""
    assert distance(first, second, 2) == distance(second, first, 2) == edits


def test_nearest_is_ordered_and_bounded() -> None:
    """Nearest first, the same first letter before others, five at most."""
    words = ["from", "form", "dorm", "farm", "fork", "fort", "forms", "storm", "a", "港"]
    assert nearest("form", words) == ["farm", "fork", "forms", "fort", "from"]
    assert nearest("港口", words) == []
    assert nearest("x" * 100, words) == []


def test_nearest_is_quick_for_many_words() -> None:
    """220,000 words are compared in well under a second."""
    letters = "etaoinsrhl"
    words = [
        "".join(letters[number // 10**place % 10] for place in range(6)) + "ing"[: number % 4]
        for number in range(220_000)
    ]
    start = time.process_time()
    assert nearest("sniotax", words)
    assert time.process_time() - start < 1.5


def test_phrases_that_markup_parts_are_told_beside_the_answer(corpus: Corpus) -> None:
    """A reader sees the phrase, the source does not hold it: named, counted, in no set."""
    texts = {
        "plain.md": "the retention policy",
        "bold.md": "**retention** <b>policy</b>",
        "link.md": "a [retention](p/r_(old).md) policy, a brass",
        "title.md": 'a [retention](p/r.md\n"Of it") policy',
        "attributes.md": "a [retention](p/r.md){target=_blank} policy",
        "label.md": "a [retention][r] policy\n\n[r]: x.md",
        "tag.md": "**retention** <span class='x y'>policy</span>",
        "comment.md": "retention <!-- a -> b --> policy",
        "foot.md": "retention[^1] policy",
        "list.md": "- retention\n  1. policies",
        "head.md": "# See [retention](r.md) policy\n\ntext",
        "apart.md": "retention of the [policy](p.md) <i class='x'>x</i>",
        "address.md": "retention <bob@policy.org> policy, retention <https://x.org> policy",
        "escaped.md": "\\[retention\\](x) policy",
        "plain.txt": "a [retention](x) policy",
    }
    for path, text in texts.items():
        corpus.text(path, text + "\n")
    result = corpus.enumerate('"retention policy"')
    assert sorted(match.path for match in result.matches) == ["bold.md", "plain.md"]
    (hidden,) = result.parted
    assert hidden.paths == (
        *("attributes.md", "comment.md", "foot.md", "head.md", "label.md", "link.md", "list.md"),
        *("tag.md", "title.md"),
    )
    assert (hidden.text, hidden.excluded, hidden.whole) == ("retention policy", False, True)
    assert result.notes[0].startswith('9 documents hold "retention policy" for a reader only:')
    assert result.notes[0].endswith(
        "they are not counted for it: attributes.md, comment.md, foot.md, head.md, label.md and 4"
        " more."
    )
    assert corpus.enumerate('heading:"retention policy"').parted[0].paths == ("head.md",)
    assert corpus.enumerate("retention-policy").parted[0].paths == hidden.paths
    excluded = corpus.enumerate('brass -"retention policy"')
    assert [match.path for match in excluded.matches] == ["link.md"]
    assert "they are not left out for it" in excluded.notes[0]
    for query in ("retention policy", '"brass policy"', '"retention"'):
        assert corpus.enumerate(query).parted == ()


def test_the_two_ways_of_markup_together(corpus: Corpus) -> None:
    """Tags inside a word, references, and a link between the words of one phrase."""
    corpus.text("a.md", "the CO<sub>2</sub> level rose\n")
    corpus.text("b.md", "CO<sub>2</sub> [emission](x.md) levels\n")
    corpus.text("c.md", "caf&eacute; [brass](u) ring\n")
    assert [m.path for m in corpus.enumerate('"CO2 level"').matches] == ["a.md"]
    assert corpus.enumerate('"CO2 emission levels"').parted[0].paths == ("b.md",)
    assert corpus.enumerate('"café brass ring"').parted[0].paths == ("c.md",)


def test_too_many_candidates_are_said(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not looked at everywhere is no absence."""
    monkeypatch.setattr("knowledge_nb.matching.parted.CANDIDATES", 3)
    for number in range(5):
        corpus.text(f"{number}.md", "brass and old ring <i class='y'>x</i>\n")
    corpus.text("z.md", "the [brass](x.md) ring\n")
    result = corpus.enumerate('"brass ring"')
    assert [(each.paths, each.whole) for each in result.parted] == [((), False)]
    assert "was not looked at everywhere" in " ".join(result.notes)
    assert corpus.enumerate('"brass ring"', under="z.md").parted[0].paths == ("z.md",)


@pytest.mark.parametrize("unit", ["[^", "<!--", "](", "](a(b)", "<a ", "1. "])
def test_a_text_of_broken_markup_comes_to_an_end(corpus: Corpus, unit: str) -> None:
    """The search for what markup hides is bounded in what it reads at every place."""
    corpus.text("a.md", f"```\nbrass {unit * 4_000} ring\n```\n")
    # Signs alone are no words between the two.
    words = any(char.isalnum() for char in unit)
    assert corpus.enumerate('"brass ring"').matched == (0 if words else 1)
