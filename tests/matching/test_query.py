"""The closed language: what is a term, what is refused, and that each refusal holds its fix."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge_nb.errors import QuerySyntaxError
from knowledge_nb.matching.query import MAX_TERMS, MAX_WORDS, parse
from knowledge_nb.text import index_text, tokens, words


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ("lantern brass", '"lantern" "brass"'),
        ('"brass ring" lantern', '"brass ring" "lantern"'),
        ("lantern -brass", '"lantern" -"brass"'),
        ('-"brass ring" lantern', '-"brass ring" "lantern"'),
        ("-heading:brass lantern", '-heading:"brass" "lantern"'),
        ('body:"brass ring"', 'body:"brass ring"'),
        ("heading:brass body:ring", 'heading:"brass" body:"ring"'),
        ("lantern\n\tbrass\u3000ring", '"lantern" "brass" "ring"'),
    ],
)
def test_terms(query: str, compiled: str) -> None:
    """Bare words, phrases, a leading minus and two scopes, in any combination and order."""
    assert parse(query).compiled == compiled


@pytest.mark.parametrize(
    ("query", "compiled"),
    [
        ("@kestrel", '"kestrel"'),
        ("#harbour", '"harbour"'),
        ("50%", '"50"'),
        ("a=b", '"a b"'),
        ("x\\y", '"x y"'),
        ("[br]", '"br"'),
        ("why?", '"why"'),
        ("a;b", '"a b"'),
        ("pier.", '"pier"'),
        ("pier,", '"pier"'),
        ("(pier)", '"pier"'),
        ("pier!", '"pier"'),
        ("RFQ-0042", '"RFQ 0042"'),
        ("gpt-4", '"gpt 4"'),
        ("v2.14.3", '"v2 14 3"'),
        ("http://x", '"http x"'),
        ("std::vector", '"std vector"'),
        ("12:30", '"12 30"'),
        ("file:///etc/hosts", '"file etc hosts"'),
        ("not-for-profit", '"not for profit"'),
        ("and/or", '"and or"'),
        ("don't", '"don t"'),
        ("don’t", '"don t"'),
        ("pre\0post", '"pre post"'),
        ("天気", '"天気"'),
        ("\ufeff-brass lantern", '-"brass" "lantern"'),
        ("“brass ring” lantern", '"brass ring" "lantern"'),
        ("„brass ring“", '"brass ring"'),
        ("«brass ring»", '"brass ring"'),
        ('"brass ring",', '"brass ring"'),
        ('"AND" "or" "Near"', '"AND" "or" "Near"'),
        ('"storag*"', '"storag"'),
        ('"title: brass"', '"title brass"'),
        ('"--force"', '"force"'),
    ],
)
def test_other_signs_are_text(query: str, compiled: str) -> None:
    """Q01-Q04, Q14: a sign that is no operator separates words, and the parts are one phrase."""
    assert parse(query).compiled == compiled


@pytest.mark.parametrize(
    ("query", "named"),
    [
        *[
            (f"lantern {operator} brass", operator)
            for operator in ("OR", "or", "Or", "AND", "and", "NOT", "not", "NEAR", "near")
        ],
        ("lantern or, brass", "or"),
        ("NEAR(lantern brass)", "NEAR"),
        ("lantern NEAR/5 brass", "NEAR/5"),
        ("lantern ＯＲ brass", "ＯＲ"),
        ("-not lantern", "not"),
        ("heading:and lantern", "and"),
    ],
)
def test_operators_are_refused_by_name(query: str, named: str) -> None:
    """OR, AND, NOT and NEAR in any case are refused by name, with what to write."""
    with pytest.raises(QuerySyntaxError) as refusal:
        parse(query)
    assert f"`{named}" in str(refusal.value)
    assert "not an operator" in str(refusal.value)
    for shown in re.findall(r"`([^`]*\"[^`]*)`", str(refusal.value)):
        assert parse(f"lantern {shown}").terms


@pytest.mark.parametrize(
    "query",
    [
        *("storag*", "storag*,", '"storag"*', "heading:storag*", "-storag*"),
        *("storag＊", '"storag"＊', "-storag﹡"),
    ],
)
def test_a_trailing_star_is_refused(query: str) -> None:
    """A prefix on stems shrinks as it grows; the refusal names the verb that lists the words."""
    with pytest.raises(QuerySyntaxError, match=r"knowledge words --prefix storag.*prefix='storag'"):
        parse(query)


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ("-brass", "only excludes"),
        ('-"brass ring" -heading:oak', "only excludes"),
        ("-brass -a", "only excludes"),
        ("-", "minus stands alone"),
        ("lantern - brass", "minus stands alone"),
        ("--force", "two minus signs"),
        ("–brass lantern", "not the minus sign"),
        ("−brass lantern", "not the minus sign"),
        ("heading:", "has no word"),
        ("body: brass", "has no word"),
        ("-heading: brass", "has no word"),
        ("heading:-brass", "minus inside the scope"),
        ("heading:body:brass", "reads like a name"),
        ("body::Body", "reads like a name"),
        ("title:brass", "not a scope"),
        ("Heading:brass", "not a scope"),
        ("BODY:brass", "not a scope"),
        ("path:policies", "not a scope"),
        ("heading：brass", "not a scope"),
        ('"', "never closed"),
        ('lantern "brass ring', "never closed"),
        ("“brass ring", "never closed"),
        ('brass"ring', "inside a word"),
        ('foo:"brass ring"', "inside a word"),
        ('"brass"ring', "follows a closing quote"),
        ('"brass ring"~5', "follows a closing quote"),
        ('""', "empty phrase"),
        ('lantern heading:"  "', "empty phrase"),
        ("br*ss", "no wildcard"),
        ("*brass", "no wildcard"),
        ("-(brass ring) lantern", "do not group"),
        ("heading:(brass ring)", "do not group"),
        ("(-brass lantern)", "do not group"),
        ("(heading:brass lantern)", "do not group"),
        ('("brass ring" lantern)', "do not group"),
    ],
)
def test_refusals(query: str, match: str) -> None:
    """What would be answered as another question is refused, and every example given works."""
    with pytest.raises(QuerySyntaxError, match=match) as refusal:
        parse(query)
    for shown in re.findall(r"such as `([^`]+)`", str(refusal.value)):
        parse(shown if not shown.startswith("-") else f"lantern {shown}")


@pytest.mark.parametrize(
    ("query", "fix"),
    [
        ("lantern !brass", "`lantern -brass`"),
        ("lantern ！brass", "`lantern -brass`"),
        ("heading:!brass", "`lantern -heading:brass`"),
        ("!heading:brass", "`lantern -heading:brass`"),
        ('lantern !"brass ring"', '`lantern -"brass ring"`'),
        ("!storag*", "`lantern -storag`"),
        ("^brass", "`brass`"),
        ("-~brass lantern", "`-brass`"),
        ("~5", '`"~5"`'),
    ],
)
def test_a_leading_operator_of_other_tools_is_refused(query: str, fix: str) -> None:
    """`!brass` is not answered as `brass`, its opposite; `^` and `~` are no operators either."""
    with pytest.raises(QuerySyntaxError, match="is not an operator here") as refusal:
        parse(query)
    assert fix in str(refusal.value)
    parse(fix.strip("`") if fix[1] != "-" else f"lantern {fix.strip('`')}")


@pytest.mark.parametrize(
    ("query", "fix"),
    [
        ("body：brass", "`body:brass`"),
        ("lantern -heading：brass", "`-heading:brass`"),
        ('body："brass ring"', "`body:brass`"),
    ],
)
def test_a_full_width_colon_is_named(query: str, fix: str) -> None:
    """The message says what is wrong with `body：`, which looks like a scope."""
    with pytest.raises(QuerySyntaxError, match="its colon is full-width") as refusal:
        parse(query)
    assert fix in str(refusal.value)


@pytest.mark.parametrize("query", ["pre\ud83dpost", '"caf\udce9"', "\udcff\udcfe"])
def test_a_lone_surrogate_is_refused(query: str) -> None:
    """Half a character, or bytes that are not UTF-8, are not searched as something else."""
    with pytest.raises(QuerySyntaxError, match="not valid Unicode text") as refusal:
        parse(query)
    str(refusal.value).encode()


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\ufeff", "\u200b "])
def test_blank_text_has_no_terms(query: str) -> None:
    """Blank text is an empty query, not a fault."""
    assert parse(query).terms == ()


@pytest.mark.parametrize("sign", ["!!", "😀", "--", "---", '"+++"', '-"***"', "…", "&&", "\uf8f0"])
def test_a_term_without_a_token_is_named(sign: str) -> None:
    """Q15: what the index cannot hold is refused by name, never silently absent."""
    with pytest.raises(QuerySyntaxError, match="cannot be searched") as refusal:
        parse(f"alpha {sign}")
    assert sign.strip('-"') in str(refusal.value)


def test_short_terms_are_dropped_and_reported() -> None:
    """A single character is not searched; it is reported, with its minus and scope."""
    parsed = parse("lantern a -b heading:c, 港")
    assert parsed.compiled == '"lantern" "港"'
    assert [term for term, _ in parsed.dropped] == ["a", "-b", "heading:c,"]
    assert parse("a\0").dropped == (("a\ufffd", "under two characters"),)


def test_nothing_left_is_an_empty_query() -> None:
    """When all that must be found was dropped, exclusions alone are no query."""
    parsed = parse("a -brass")
    assert parsed.terms == ()
    assert parsed.dropped == (("a", "under two characters"),)


@pytest.mark.parametrize("query", ["C++", "C#", '"C++"'])
def test_a_letter_with_signs_is_searched_and_said(query: str) -> None:
    """Q15: `C++` searches `c` and says so; its compiled form is read the same way again."""
    parsed = parse(query)
    assert parsed.terms[0].words in (("C",), ("c",))
    assert "is searched as `c`" in parsed.notes[0]
    assert parse(parsed.compiled).compiled == parsed.compiled


def test_terms_past_forty_are_an_error() -> None:
    """Forty terms are answered; the forty-first is an error, not a silence."""
    assert len(parse("brass " * MAX_TERMS).terms) == MAX_TERMS
    with pytest.raises(QuerySyntaxError, match="41 terms"):
        parse("brass " * (MAX_TERMS + 1))


def test_an_endless_phrase_is_an_error() -> None:
    """A pasted page, or a token longer than FTS5 compares, is refused."""
    parse('"' + "brass " * MAX_WORDS + '"')
    with pytest.raises(QuerySyntaxError, match="201 words"):
        parse('"' + "brass " * (MAX_WORDS + 1) + '"')
    with pytest.raises(QuerySyntaxError, match="8,001 characters"):
        parse("b" * 8001)


def test_single_quotes_are_noted() -> None:
    """Single quotes make no phrase, and the answer says so."""
    assert "Single quotes" in parse("'brass ring'").notes[0]
    assert parse("don't rock 'n' roll").notes == ("Searched as a phrase of its parts: `don't`.",)


QUERIES = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(), max_size=30),
    st.lists(
        st.sampled_from(
            [
                *"ab-\"':*()!^~.“”＊：",
                "heading:",
                "body:",
                "title:",
                "brass",
                "ring",
                "or",
                "天気",
                " ",
                "  ",
            ]
        ),
        max_size=14,
    ).map("".join),
)


@given(QUERIES)
@example("\ud83d")
@example('"a\0b"')
def test_any_text_is_refused_or_read(query: str) -> None:
    """Any text is a syntax error or terms whose tokens are those of the same text in a document."""
    try:
        parsed = parse(query)
    except QuerySyntaxError as refusal:
        str(refusal).encode()  # printable everywhere
        return
    for term in parsed.terms:
        assert term.words
        assert tokens(term.indexed) == tokens(term.text)
        assert term.indexed.split(" ") == " ".join(words(index_text(term.text))).split(" ")
    parsed.compiled.encode()


@given(QUERIES)
def test_the_compiled_form_is_stable(query: str) -> None:
    """The compiled form is a query of the language that is read as the same terms."""
    try:
        parsed = parse(query)
    except QuerySyntaxError:
        return
    again = parse(parsed.compiled)
    assert [(t.words, t.scope, t.excluded) for t in again.terms] == [
        (t.words, t.scope, t.excluded) for t in parsed.terms
    ]
    assert again.compiled == parsed.compiled
    assert not again.dropped
