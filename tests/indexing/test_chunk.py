"""Structure: headings, breadcrumbs, front matter, line ends, and what the reports warn of."""

import codecs

import pytest

from knowledge_nb.indexing.chunk import ChunkedText, ChunkText, chunk_text, decode_source
from knowledge_nb.indexing.chunk import headings_of as headings_with_lines


def chunks(text: str) -> tuple[ChunkText, ...]:
    return chunk_text(text, markdown=True).chunks


def headings(text: str) -> list[tuple[int, str]]:
    return [(level, source) for level, source, _ in headings_with_lines(text)]


def paths(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(chunk.headings, chunk.body) for chunk in chunks(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A", [(1, "A")]),
        ("### A ###  \n", [(3, "A")]),
        ("# A \\#\n", [(1, "A \\#")]),
        ("# A#\n", [(1, "A#")]),
        ("   ## A\n", [(2, "A")]),
        ("    ## A\n", []),
        ("#tag\n", []),
        ("####### A\n", []),
        ("#\tA\n", [(1, "A")]),
        ("#\n", [(1, "")]),
        ("## ##\n", [(2, "")]),
        ("#\fA\n", []),
        ("# two  \t words\n", [(1, "two words")]),
    ],
)
def test_atx_headings(text: str, expected: list[tuple[int, str]]) -> None:
    """An ATX heading is one to six `#`, then white space, at most three spaces before."""
    assert headings(text) == expected


def test_setext_headings() -> None:
    """M08: underlined headings are headings, whatever the length of the line and what trails it."""
    text = "Title\n=====\n\ntext\n\nPart\n-- \t\n\ntext\n\nOne\n-\n\nTwo\nlines\n===\n\n#tag\n---\n"
    assert headings(text) == [(1, "Title"), (2, "Part"), (2, "One"), (1, "Two lines"), (2, "#tag")]
    assert paths(text)[1] == (("Title", "Part"), "text")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```text\n```python\n# inner\n```\n# Real\n", [(1, "Real")]),  # M02
        ("~~~\n~~~ruby\n# inner\n~~~\n# Real\n", [(1, "Real")]),  # M02
        ("````markdown\n```js\n# demo\n```\n````\n# Real\n", [(1, "Real")]),  # M04
        ("```\n# a\n`````\n# Real\n", [(1, "Real")]),  # M04: a longer fence closes
        ("```\n# a\n~~~\n# b\n```\n# Real\n", [(1, "Real")]),
        ("``` a`b\n# Real\n", [(1, "Real")]),  # no backtick in an info string
        ("```\n# never closed\n", []),
        ("# Real\n\n    # code\n", [(1, "Real")]),
        ("<div>\n# html\n</div>\n\n# Real\n", [(1, "Real")]),
        ("<!-- \n\n# html\n\n-->\n# Real\n", [(1, "Real")]),
        ("<pre>\n\n# html\n\n</pre>\n# Real\n", [(1, "Real")]),
    ],
)
def test_no_heading_inside_code_or_html(text: str, expected: list[tuple[int, str]]) -> None:
    """What looks like a heading inside a fence, indented code or HTML is none."""
    assert headings(text) == expected


def test_fence_keeps_its_heading_path() -> None:
    """M06: comment lines in a code example open no chunk; the example keeps its path."""
    code = "\n".join(f"# step {i}" if i % 6 == 0 else f"make part{i}" for i in range(30))
    (chunk,) = chunks(f"## Install\n\n```sh\n{code}\n```\n")
    assert chunk.headings == ("Install",)
    assert chunk.body == f"```sh\n{code}\n```"


def test_breadcrumbs_and_blank_lines() -> None:
    """M07: each section has its own path; a heading over a sub-heading has no chunk of its own."""
    text = "# One\n\ntext\n\n# Chapter Two\n## Sub\nmore" + "\n" * 40
    one, sub = chunks(text)
    assert (one.headings, one.body, one.opens) == (("One",), "text", 1)
    assert (sub.headings, sub.body, sub.opens) == (("Chapter Two", "Sub"), "more", 2)
    assert (sub.first_line, sub.last_line) == (5, 7)
    assert chunk_text(text, markdown=True).title == "One"


def test_a_level_closes_those_below_it() -> None:
    """The breadcrumb holds the open headings only; a skipped level is not invented."""
    text = "# A\na\n### B\nb\n## C\nc\n### D\nd\n# E\ne\n"
    assert [chunk.headings for chunk in chunks(text)] == [
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("A", "C", "D"),
        ("E",),
    ]


def test_heading_without_a_body_is_found() -> None:
    """M07: a heading with neither text nor a section below it has a chunk, with an empty body."""
    assert [(c.headings, c.body, c.opens) for c in chunks("# A\n# B\n## C\n# D\n\nd\n\n## E")] == [
        (("A",), "", 1),
        (("B", "C"), "", 2),
        (("D",), "d", 1),
        (("D", "E"), "", 1),
    ]


def test_heading_without_text() -> None:
    """A bare `#` ends the section, adds nothing to the breadcrumb, and makes no empty chunk."""
    assert paths("# A\n\na\n\n#\n\nb\n\n##\n") == [(("A",), "a"), ((), "b")]
    assert paths("# A\n##\nb\n") == [(("A",), "b")]
    assert paths("#\n") == []
    assert chunk_text("#\n# &nbsp;\n# T &amp; *x*\n", markdown=True).title == "T & *x*"


def test_headings_in_block_quotes_and_list_items() -> None:
    """A nested heading stands below the outer ones and holds until its container ends."""
    text = "## A\n\na\n\n> # Q\n>\n> q\n>\n> ## R\n> r\n\nb\n\n- # L\n\n  l\n- m\n\nc\n"
    assert headings(text) == [(2, "A"), (1, "Q"), (2, "R"), (1, "L")]
    assert paths(text) == [
        (("A",), "a"),
        (("A", "Q"), ">\n> q\n>"),
        (("A", "Q", "R"), "> r"),
        (("A",), "b"),
        (("A", "L"), "  l"),
        (("A",), "- m\n\nc"),
    ]
    assert [chunk.opens for chunk in chunks(text)] == [1, 1, 1, 0, 1, 0]
    assert not any(chunk.continues for chunk in chunks(text))


def test_containers_without_text_between_headings() -> None:
    """Empty lines of a block quote are no body; a nested item is a container of its own."""
    assert paths("# A\n> # B\n>\n> ## C\n> c\n") == [(("A", "B", "C"), "> c")]
    assert paths("- # A\n  > # B\n  > b") == [(("A", "B"), "  > b")]
    assert paths("- - # A\n  - # B\n") == [(("A",), ""), (("B",), "")]
    assert paths("> # A\n>\n> a\n\n# B\nb\n") == [(("A",), ">\n> a"), (("B",), "b")]


def test_number_of_a_list_item_is_not_lost() -> None:
    """The number before a heading in an ordered list is text, and stays text."""
    assert paths("# A\n\n17. # B\n\n    b\n") == [(("A",), "17."), (("A", "B"), "    b")]


def test_nested_setext_heading_drops_quote_marks() -> None:
    """The marks of a block quote are no part of a heading of two lines."""
    assert headings("> two\n> lines\n> ===\n") == [(1, "two lines")]


@pytest.mark.parametrize("end", ["---", "...", "--- \t"])
def test_front_matter(end: str) -> None:
    """M11: front matter makes no heading, and its text can be found."""
    text = f"---\ntitle: Plan\nnav_order: 3\n{end}\n# Real\n\ntext\n"
    assert headings(text) == [(1, "Real")]
    front, real = chunks(text)
    assert (front.headings, front.first_line, front.last_line) == ((), 1, 4)
    assert "nav_order: 3" in front.body
    assert (real.first_line, real.last_line, real.continues) == (5, 7, False)


def test_front_matter_needs_a_line_and_an_end() -> None:
    """M10: a rule on the first line swallows nothing."""
    text = "---\n\n# Kept: yes\n\nNote: text\n\n---\n\nend\n"
    assert headings(text) == [(1, "Kept: yes")]
    assert [chunk.body for chunk in chunks(text)] == ["---", "Note: text\n\n---\n\nend"]
    assert headings("---\nno: end\n# A\n") == [(1, "A")]
    assert headings("text\n\n---\na: b\n---\n") == [(2, "a: b")]
    assert headings("---\n" + "a: b\n" * 20_000 + "# A\n---\n") == [(1, "A")]


def test_front_matter_is_not_markdown() -> None:
    """Character references and stars in front matter are literal."""
    (chunk,) = chunks("---\ntitle: a*b*c &amp; d\n---\n")
    assert chunk.plain is chunk.body


@pytest.mark.parametrize("start", ["# A\n\na", "---\nt: x\n---\n# A\n\na", "```\nx\n```\n\n# A"])
def test_byte_order_mark(start: str) -> None:
    """M12: a byte-order mark changes nothing."""
    plain = chunk_text(decode_source(start.encode()), markdown=True)
    assert chunk_text(decode_source(codecs.BOM_UTF8 + start.encode()), markdown=True) == plain
    assert chunk_text("\ufeff" + start, markdown=True) == plain


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends(line_end: str) -> None:
    """M13: CRLF and CR give the same chunks and the same line numbers as LF."""
    text = "---\na: b\n---\n# A\n\none\ntwo\n\nB\n---\n\n```\n# no\n```\n\n> q\n"
    assert chunk_text(text.replace("\n", line_end), markdown=True) == chunk_text(
        text, markdown=True
    )


def test_mixed_line_ends_and_line_numbers() -> None:
    """M13: lines end at LF, CRLF and CR only, not at U+2028, U+0085 or a form feed."""
    text = "# A\r\nx\u2028y\u0085z\fw\r\n\r# B\n\rb\r\n"
    assert headings_with_lines(text) == [(1, "A", 1), (1, "B", 4)]
    assert [(c.body, c.first_line, c.last_line) for c in chunks(text)] == [
        ("x\u2028y\u0085z\fw", 1, 2),
        ("b", 4, 6),
    ]


def test_ends_without_a_newline() -> None:
    """M19: the last line counts, newline or not."""
    assert paths("# A\n\n```\nx\n```") == [(("A",), "```\nx\n```")]
    assert headings("```\nx\n```\n# A") == [(1, "A")]
    assert headings("A\n=") == [(1, "A")]


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", " \t\n\r\n", "\0", "\u00a0\n\u3000"])
@pytest.mark.parametrize("markdown", [True, False])
def test_empty_files(text: str, markdown: bool) -> None:
    """M19: a file without text is a document without chunks."""
    assert chunk_text(text, markdown=markdown) == ChunkedText("", ())


def test_nul_is_a_space() -> None:
    """T10: NUL separates words and never reaches the store."""
    result = chunks("pre\0post" + "\0" * 10_000 + "end")
    assert [chunk.body for chunk in result] == ["pre post", "end"]


@pytest.mark.parametrize("text", ["caf\xe9".encode("cp1252"), "text".encode("utf-16"), b"\x89PNG"])
def test_other_encodings_are_refused(text: bytes) -> None:
    """M20: what is not UTF-8 raises; the caller reports the file."""
    with pytest.raises(UnicodeDecodeError):
        decode_source(text)


@pytest.mark.parametrize("markdown", [True, False])
def test_lone_surrogates_are_refused(markdown: bool) -> None:
    """T11: a lone surrogate, which no file can hold, raises a ValueError."""
    with pytest.raises(UnicodeEncodeError):
        chunk_text("title \ud83d", markdown=markdown)


def test_link_reference_definitions_are_kept() -> None:
    """A definition is no block to the parser; it can be found all the same."""
    text = "# A\n\n[ref]: https://example.org/unique 'titled'\n\n# B\n\n```\nx\n```\n[c]: /d\n"
    assert paths(text)[0] == (("A",), "[ref]: https://example.org/unique 'titled'")
    assert paths(text)[1] == (("B",), "```\nx\n```\n[c]: /d")


def test_plain_text_has_no_headings() -> None:
    """Plain text is paragraphs: `#`, underlines and references mean nothing."""
    text = "# A\n\nB\n===\n\n---\n un*believ*able &amp;\n"
    result = chunk_text(text, markdown=False)
    (chunk,) = result.chunks
    assert (result.title, chunk.headings, chunk.body) == ("", (), text.rstrip())
    assert chunk.plain is chunk.body


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("un*believ*able", "unbelievable"),
        ("un**believ**able", "unbelievable"),
        ("un***believ***able", "unbelievable"),
        ("**bold**face", "**boldface"),
        ("*a b*c", "*a bc"),
        ("**Note**: x", "**Note**: x"),
        ("snake_case_name", "snake_case_name"),
        ("__init__ and _x_", "__init__ and _x_"),
        ("5*3*2", "532"),
        ("5 * 3 * 2", "5 * 3 * 2"),
        ("2*3 and 4", "2*3 and 4"),
        ("a\\*b\\*c", "a\\*b\\*c"),
        ("`un*believ*able`", "`un*believ*able`"),
        ("    un*believ*able", "    un*believ*able"),
        ("<a title='x*y*z'>q</a>", "<a title='x*y*z'>q</a>"),
        ("не*воз*можно", "невозможно"),
        ("caf&eacute;", "café"),
        ("R&amp;D", "R&D"),
        ("&#233;&#xE9;", "éé"),
        ("&lt;b&gt; &amp;lt;", "<b> &lt;"),
        ("`&lt;` &lt;", "`&lt;` <"),
        ("```\n&lt;\n```", "```\n&lt;\n```"),
        ("    &lt;", "    &lt;"),
        ("\\&lt; \\\\&lt;", "\\&lt; \\\\<"),
        ("&notit; &unknown; &amp R&D; &#0;", "&notit; &unknown; &amp R&D; \ufffd"),
        ("be<b>lie</b>vable", "believable"),
        ("CO<sub>2</sub> and H<SUB >2</SUB>O", "CO2 and H2O"),
        ("foo<wbr/>baz <b>F</b>requency", "foobaz Frequency"),
        ("un<b>*belie*</b>vable", "unbelievable"),
        ("10<sup>2</sup> word<sup>1</sup>", "10<sup>2</sup> word<sup>1</sup>"),
        ("one<br>two <b>three</b> four", "one<br>two three four"),
        ("see<a href='x.org'>this</a>too", "see<a href='x.org'>this</a>too"),
        ("x<b class='y'>z w", "x<b class='y'>z w"),
        ("`a<b>c` a\\<b>c", "`a<b>c` a\\<b>c"),
        ("the **<b>brass</b>** ring", "the **brass** ring"),
        ("<table><tr><td>CO<sub>2</sub></td></tr></table>", "<table><tr><td>CO2</td></tr></table>"),
        ("<p>\nCO<sub>2</sub> rises\n</p>", "<p>\nCO2 rises\n</p>"),
        ("<script>if (a<b>c) {}</script>", "<script>if (a<b>c) {}</script>"),
        ("<!-- a<b>c -->", "<!-- a<b>c -->"),
        ("<td>caf&eacute;</td>", "<td>café</td>"),
        ("&eacute;*t*é", "été"),
        ("| a&amp;b | un*x*y |\n|-|-|\n| `&lt;` | &lt; |", "| a&b | unxy |\n|-|-|\n| `&lt;` | < |"),
        ("- un*x*y &amp;\n- `&amp;`\n\n> &amp;", "- unxy &\n- `&amp;`\n\n> &"),
        ("[r]: /u?a&amp;b", "[r]: /u?a&b"),
    ],
)
def test_text_as_searched(written: str, searched: str) -> None:
    """References outside code are decoded, marks in a word and bare tags go; the body stays."""
    (chunk,) = chunks(written)
    assert chunk.body == written
    assert chunk.plain == searched
    assert (chunk.plain is chunk.body) == (written == searched)


def test_heading_as_searched() -> None:
    """A heading is kept as written, and searched as its words are read."""
    (chunk,) = chunks("# un*believ*able&nbsp;R&amp;D `&lt;` ##\n\ntext\n")
    assert chunk.headings == ("un*believ*able&nbsp;R&amp;D `&lt;`",)
    assert chunk.headings_plain == ("unbelievable R&D `&lt;`",)
    assert chunk.plain is chunk.body
    assert chunk_text("Q&amp;A\n===\n", markdown=True).title == "Q&A"


def test_equal_paragraphs_are_all_kept() -> None:
    """P10: fifty equal paragraphs are fifty paragraphs."""
    text = "same words here\n\n" * 50
    assert sum(chunk.body.count("same words here") for chunk in chunks(text)) == 50
