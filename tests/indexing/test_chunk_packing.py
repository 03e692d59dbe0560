"""Packing: sizes, what is kept whole, and where an oversized block is cut."""

import pytest

from knowledge_nb.indexing.chunk import ChunkText, chunk_text
from knowledge_nb.indexing.split import OVERSIZED, OVERSIZED_TABLE, TARGET

PARAGRAPH = "The quick brown fox jumps over the lazy dog. " * 7  # 315 bytes


def chunks(text: str, *, markdown: bool = True) -> tuple[ChunkText, ...]:
    return chunk_text(text, markdown=markdown).chunks


def size(chunk: ChunkText) -> int:
    return len(chunk.body.encode())


@pytest.mark.parametrize("markdown", [True, False])
def test_paragraphs_are_packed_toward_the_target(markdown: bool) -> None:
    """Small paragraphs share a chunk as long as it stays within 1,200 bytes."""
    result = chunks("\n\n".join([PARAGRAPH.strip()] * 9), markdown=markdown)
    assert [chunk.body.count("\n\n") for chunk in result] == [2, 2, 2]
    assert [chunk.continues for chunk in result] == [False, True, True]
    assert all(size(chunk) <= TARGET for chunk in result)


def test_sections_are_never_packed_together() -> None:
    """A heading flushes the section, however small it is; only the first chunk opens it."""
    result = chunks("# A\n\na\n\n# B\n\n" + "\n\n".join([PARAGRAPH] * 5))
    assert [(c.headings, c.opens, c.continues) for c in result] == [
        (("A",), 1, False),
        (("B",), 1, False),
        (("B",), 0, True),
    ]


def test_sizes_are_bytes() -> None:
    """A letter of two bytes counts as two."""
    result = chunks("\n\n".join(["ж" * 299] * 4))
    assert [size(chunk) for chunk in result] == [1198, 1198]


def test_fence_over_the_limit_is_whole() -> None:
    """A fenced code block is never split, wherever it stands."""
    fence = "```\n" + "line of code\n\n" * 1_000 + "```"
    assert [chunk.body for chunk in chunks(f"before\n\n{fence}\n\nafter\n")] == [
        "before",
        fence,
        "after",
    ]
    quoted = "\n".join("> " + line for line in fence.split("\n"))
    assert quoted in [chunk.body for chunk in chunks(f"> text\n>\n{quoted}\n>\n> text\n")]
    nested = "\n".join("  " + line for line in fence.split("\n"))
    assert any(nested in chunk.body for chunk in chunks(f"- item\n\n{nested}\n- item\n"))


@pytest.mark.parametrize("before", ["", "- item\n"])
def test_fence_beside_a_nested_heading_is_whole(before: str) -> None:
    """A heading in one item of a small list does not expose the fence in another."""
    fence = "  ```\n" + "  line of code\n\n" * 50 + "  ```"
    text = f"{before}- # A\n- {'word ' * 80}\n\n{fence}\n\n{'***' * 80}\n\n{'***' * 80}\n"
    assert any(fence in chunk.body for chunk in chunks(text))


def test_table_is_kept_together() -> None:
    """A table of a few kilobytes is one chunk; a very large one is split at the ends of rows."""
    rows = [f"| row {i} | some words |" for i in range(200)]
    table = "\n".join(["| a | b |", "|---|---|", *rows])
    assert OVERSIZED < len(table) <= OVERSIZED_TABLE
    assert [chunk.body for chunk in chunks(f"text\n\n{table}\n\ntext\n")] == ["text", table, "text"]
    large = chunks("\n".join([table, *rows, *rows]))
    assert len(large) == 2
    assert all(size(chunk) <= OVERSIZED_TABLE for chunk in large)
    assert all(line.startswith("|") for chunk in large for line in chunk.body.split("\n"))


def test_underline_below_a_table_is_a_rule() -> None:
    """Tables are GitHub's: to CommonMark alone this table would be the text of a heading."""
    (chunk,) = chunks("| a |\n|---|\n| b |\n---\n")
    assert (chunk.headings, chunk.body) == ((), "| a |\n|---|\n| b |\n---")


@pytest.mark.parametrize("markdown", [True, False])
def test_long_paragraph_is_cut_at_sentence_ends(markdown: bool) -> None:
    """M17: each part of a paragraph without line breaks ends with a sentence; no word is lost."""
    sentences = [f"Sentence number {i} says “something” (again!)." for i in range(2_500)]
    result = chunks(" ".join([*sentences, "The fact is here."]), markdown=markdown)
    assert len(result) > 80
    assert all(chunk.body.endswith(".") and size(chunk) <= OVERSIZED for chunk in result)
    assert result[-1].body.endswith(". The fact is here.")
    assert [chunk.continues for chunk in result] == [False] + [True] * (len(result) - 1)


def test_paragraph_of_moderate_size_is_whole() -> None:
    """A paragraph up to 1,500 bytes is not cut."""
    text = ("word " * 300).strip()
    assert TARGET < len(text) <= OVERSIZED
    assert [chunk.body for chunk in chunks(text)] == [text]


def test_white_space_where_no_sentence_ends() -> None:
    """Without sentences a cut is at white space, and the parts join to the whole."""
    text = " ".join(f"w{i}" for i in range(3_000))
    result = chunks(text)
    assert " ".join(chunk.body for chunk in result) == text
    assert all(1_000 < size(chunk) <= TARGET for chunk in result[:-1])


@pytest.mark.parametrize(
    "word", ["QUJD" * 15_000, "https://example.org/" + "a/b-c" * 1_000, "жы" * 5_000, "…" * 2_000]
)
def test_a_word_is_never_cut(word: str) -> None:
    """M16: a single word over the limit stays whole, and nothing empty stands beside it."""
    assert [chunk.body for chunk in chunks(word)] == [word]
    result = chunks(f"{word} and then {word}")
    assert all(chunk.body for chunk in result)
    assert " ".join(chunk.body for chunk in result) == f"{word} and then {word}"


@pytest.mark.parametrize(
    "text",
    [
        "天気がいいから散歩しましょう" * 500,
        "ภาษาไทยเขียนติดกันน้ำไม้" * 300,
        "ភាសាខ្មែរ" * 300,
        "မြန်မာဘာသာ" * 300,
    ],
)
def test_unspaced_scripts_are_cut_between_letters(text: str) -> None:
    """M16, M18: text without spaces is cut, never before a mark or a vowel sign that hangs on."""
    result = chunks(text)
    assert len(result) > 3
    assert all(size(chunk) <= OVERSIZED for chunk in result)
    assert "".join(chunk.body for chunk in result) == text
    hanging = "\u0e33\u0e49\u0e34\u17d2\u1793\u103c\u103a\u1039\u200d"
    assert not any(chunk.body[0] in hanging for chunk in result)
    assert not any(chunk.body[-1] in "\u17d2\u1039เไ" for chunk in result)


@pytest.mark.parametrize("text", ["น้ำ" * 1_000, "カー" * 1_000, "ໄກນ້ຳ" * 500])
@pytest.mark.parametrize("shift", range(6))
def test_signs_that_are_letters_to_unicode_stay(text: str, shift: int) -> None:
    """The vowel AM and the long-vowel mark stay with the letter before them."""
    result = chunks("x" * shift + text)
    assert len(result) > 3
    assert not any(chunk.body[0] in "\u0e33\u0eb3ー" for chunk in result)


@pytest.mark.parametrize("shift", range(4))
def test_end_of_a_long_word_before_another_script(shift: int) -> None:
    """A word over the limit ends where letters of an unspaced script meet; no character is cut."""
    text = "x" * shift + "ж" * 700 + "漢字" * 300
    result = chunks(text)
    assert len(result) > 1
    assert "".join(chunk.body for chunk in result) == text
    assert all(chunk.body[0] in "漢字" for chunk in result[1:])


def test_ideographic_sentences() -> None:
    """A full stop of Chinese or Japanese ends a sentence without a space after it."""
    text = "これは長い文章です。" * 200
    result = chunks(text)
    assert len(result) > 3
    assert all(chunk.body.endswith("。") for chunk in result)


@pytest.mark.parametrize(
    "unit", ["👩\u200d👩\u200d👧", "e\u0301\u0323", "❤\ufe0f", "क्\u200dष", "\U0001f1e9\U0001f1ea"]
)
@pytest.mark.parametrize("between", ["", " ", "漢"])
def test_joined_characters_are_not_parted(unit: str, between: str) -> None:
    """M18: no cut beside a joiner, a variation selector or a mark; the parts join to the whole."""
    for shift in range(8):
        text = "x" * shift + between + (unit + between) * 600
        result = chunks(text)
        joined = (" " if between == " " else "").join(chunk.body for chunk in result)
        assert joined == text.rstrip()
        assert all(chunk.body[0] in (unit[0], between, "x", " ") for chunk in result)


def test_space_before_a_mark_is_no_place_to_cut() -> None:
    """A mark may hang on a space; such a space is passed over."""
    text = "a \u0301" * 1_000
    assert [chunk.body for chunk in chunks(text)] == [text]
    html = "<div>\n" + "\u0301a\n" * 1_000 + "</div>"
    assert not any(chunk.body.startswith("\u0301") for chunk in chunks(html))


def test_oversized_list_is_cut_at_items() -> None:
    """A long list is cut between items; an item stays with its continuation lines."""
    items = [f"- item {i} of the list\n  goes on" for i in range(200)]
    result = chunks("\n".join(items))
    assert len(result) > 3
    assert "\n".join(chunk.body for chunk in result) == "\n".join(items)
    assert all(chunk.body.startswith("- ") for chunk in result)
    numbered = chunks("\n\n".join(f"{i}. " + "word " * 60 for i in range(40)))
    assert all(chunk.body[0].isdigit() for chunk in numbered)


@pytest.mark.parametrize(
    "line", ["> quoted words here", "    indented code", "<p>html</p>", "[ref{}]: https://x.org/{}"]
)
def test_other_oversized_blocks_are_cut_at_line_ends(line: str) -> None:
    """Block quotes, indented code, HTML and definitions are cut at the ends of lines."""
    lines = [line.format(i, i) for i in range(400)]
    result = chunks("\n".join(lines))
    assert len(result) > 3
    assert "\n".join(chunk.body for chunk in result) == "\n".join(lines)
    assert all(size(chunk) <= OVERSIZED for chunk in result)


def test_oversized_front_matter_is_cut_at_line_ends() -> None:
    """Front matter over the limit is cut at the ends of its lines."""
    text = "---\n" + "".join(f"key{i}: value of it\n" for i in range(200)) + "---"
    result = chunks(text + "\n\nbody\n")
    assert "\n".join(chunk.body for chunk in result[:-1]) == text
    assert (result[-1].body, result[-1].continues) == ("body", False)


def test_indentation_of_the_first_line_is_kept() -> None:
    """Blank lines around a body go, white space in front of its first word does not."""
    assert [c.body for c in chunks("# A\n\n \n    code\n\n  \t\n")] == ["    code"]


def test_indentation_at_a_cut_is_kept() -> None:
    """A part that starts with a line starts with the indentation of the line."""
    text = "\n".join(["   A sentence on a line of its own."] * 100)
    result = chunks(text)
    assert len(result) > 2
    assert all(chunk.body.startswith("   A") for chunk in result)


def test_lines_of_parts() -> None:
    """The parts of a block carry the lines they stand on."""
    text = "# A\n\n" + "\n".join("word " * 20 + f"n{i}." for i in range(60)) + "\n"
    lines = text.split("\n")
    first, *rest = chunks(text)
    assert first.first_line == 1
    for chunk in rest:
        assert "\n".join(lines[chunk.first_line - 1 : chunk.last_line]) == chunk.body


@pytest.mark.parametrize(
    "text",
    [
        *["[", "*a ", "*a", "a*b", "*_", ">", "> ", "- ", "> - ", "#", "# \n", "# a\n", "> # a\n"],
        *["- # a\n", "a\n=\n", "`", "` ", "![a](", "](", "<", "<!-- ", "<a href=", "|a", "&amp;"],
        *[
            "\\",
            " ",
            " \n",
            "\n",
            "\r",
            "\0",
            ".",
            ".)",
            ". ",
            "a",
            "a\u0301",
            " \u0301",
            "漢\u3000",
        ],
        *["ไม้", "\u200d", "~~~\n\n", "```\n", "[a]: b\n", "1. a\n", "---\n", "a&amp;", "👩\u200d"],
    ],
)
@pytest.mark.parametrize("markdown", [True, False])
def test_hostile_input_comes_to_an_end(text: str, markdown: bool) -> None:
    """Half a megabyte of the same thing is chunked whole, whatever the thing."""
    source = text * (512 * 1024 // len(text.encode()))
    result = chunk_text(source, markdown=markdown)
    headings = sum(len(part) for c in result.chunks for part in c.headings[-c.opens or 99 :])
    kept = headings + sum(len("".join(c.body.split())) for c in result.chunks)
    marks = "" if not markdown else "#=>- "
    assert kept >= len([c for c in source if c not in marks and not (c.isspace() or c == "\0")])


def test_deep_nesting_comes_to_an_end() -> None:
    """Containers a thousand deep, each with a heading, are chunked."""
    text = "".join(">" * depth + f" # h{depth}\n" for depth in range(1, 1_000))
    assert sum(chunk.opens for chunk in chunks(text)) == 999
    text = "".join("  " * depth + "- a\n" for depth in range(700))
    assert sum(chunk.body.count("a") for chunk in chunks(text)) == 700
