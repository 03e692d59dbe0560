"""Coverage of term lists: every number is the one that `enumerate` gives."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_nb.audit.universe import places, smallest_cover, to_bits
from knowledge_nb.errors import (
    ConfigurationError,
    CorpusEmptyError,
    IndexNotBuiltError,
    QueryError,
)
from knowledge_nb.knowledge_base import KnowledgeBase
from knowledge_nb.knowledge_base import open as open_knowledge
from tests.audit.conftest import DATA, Place, make

WORDS = ["backup", "backups", "retention", "lantern", "generator", "ice", "core", "cores", "the"]


def terms() -> st.SearchStrategy[str]:
    """Queries of the closed language over words that the handbook has or has not."""
    word = st.sampled_from([*WORDS, "universities", "frost", "zarquon", "v2.14.3"])
    one = st.one_of(word, st.builds('"{} {}"'.format, word, word))
    scoped = st.builds("{}{}".format, st.sampled_from(["", "heading:", "body:"]), one)
    return st.builds(
        "{} {}".format,
        scoped,
        st.one_of(st.just(""), scoped, st.builds("-{}".format, scoped)),
    ).map(str.strip)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(listed=st.lists(terms(), min_size=1, max_size=7), under=st.sampled_from(["", "policies"]))
def test_every_number_is_enumerates(handbook: KnowledgeBase, listed: list[str], under: str) -> None:
    """Documents, chunks, places, unique, new, overlap, totals, matrix and folders."""
    frame = handbook.coverage(listed, under=under)
    sets: dict[int, set[str]] = {}
    for number, row in enumerate(frame.itertuples()):
        answer = handbook.enumerate(listed[number], under=under)
        sets[number] = set(answer["path"])
        assert row.documents == answer.result.matched
        assert row.body_matches == answer["body_matches"].sum()
        assert row.heading_matches == answer["heading_matches"].sum()
        reports = answer.result.terms
        if len(reports) == 1:
            assert row.documents_as_written == reports[0].documents_as_written
    corpus = set(handbook.sources()["path"])
    if under:
        corpus = {path for path in corpus if path.startswith(f"{under}/")}
    own = [number for number, row in enumerate(frame.itertuples()) if not row.duplicate_of]
    reached: set[str] = set()
    for number in own:
        row = frame.iloc[number]
        others = set().union(*(sets[other] for other in own if other != number))
        assert row.unique_documents == len(sets[number] - others)
        assert row.new_documents == len(sets[number] - reached)
        shared = [len(sets[number] & sets[other]) for other in own if other != number]
        assert row.overlap_documents == max(shared, default=0)
        assert row.share == pytest.approx(len(sets[number]) / len(corpus))
        reached |= sets[number]
    assert frame.result.documents_hit == len(reached)
    assert frame.result.documents_missed == len(corpus - reached)
    assert set(frame.uncovered["path"]) == corpus - reached
    matrix = frame.matrix
    assert set(matrix.index) == corpus
    grid, overlap = frame.by_folder, frame.overlap
    for number in own:
        name = frame["term"].iloc[number]
        assert set(matrix.index[matrix[name].to_numpy()]) == sets[number]
        assert grid.loc[name].sum() == len(sets[number])
        for other in own:
            both = sets[number] & sets[other]
            assert overlap.loc[name, frame["term"].iloc[other]] == len(both)
    cover = frame.smallest_cover
    assert cover["added_documents"].sum() == len(reached)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=7))
def test_the_cover_covers_and_its_proof_holds(sets: list[set[int]]) -> None:
    """The union is reached; where it says that none is smaller, none is (brute force)."""
    from itertools import combinations

    ids = {number: number for number in range(10)}
    chosen, proven = smallest_cover([to_bits(held, ids) for held in sets])
    every = set().union(*sets)
    assert set().union(*(sets[place] for place, _ in chosen)) == every
    assert sum(added for _, added in chosen) == len(every)
    if proven:
        for size in range(len(chosen)):
            for some in combinations(sets, size):
                assert set().union(*some) != every


@given(st.sets(st.integers(0, 300)))
def test_bits_come_back(held: set[int]) -> None:
    """A set as a whole number is the same set."""
    ids = {number: number for number in range(301)}
    assert set(places(to_bits(held, ids))) == held


def test_as_written_and_stem_gain(place: Place) -> None:
    """What only related forms bring in is a ledger of its own."""
    frame = place.kb.coverage(["lantern", "university", "universes", "brass ring", "harbour"])
    written = dict(zip(frame["term"], frame["documents_as_written"], strict=True))
    held = dict(zip(frame["term"], frame["documents"], strict=True))
    assert (held["lantern"], written["lantern"]) == (2, 1)
    assert (held["universes"], written["universes"]) == (2, 0)
    gain = frame.stem_gain.set_index("term")
    assert set(gain.index) == {"lantern", "universes"}
    assert gain.loc["universes", "only_by_relatives"]
    assert not gain.loc["lantern", "only_by_relatives"]
    assert "universe 2" in gain.loc["universes", "relatives"]
    assert "never as written: `universes`" in " ".join(frame.result.notes)


def test_a_bad_term_does_not_stop_the_others(place: Place) -> None:
    """Its error stands in its row, and the totals say that it was not answered."""
    long = "x" * 10_000
    listed = ["lantern", "a OR b", "!!", "brass*", "-only", long, "oars"]
    frame = place.kb.coverage(listed)
    unknown = [pd.NA] * 5
    assert frame["documents"].tolist() == [2, *unknown, 1]
    assert frame["share"].isna().tolist() == [False, True, True, True, True, True, False]
    # What was not answered is no absence.
    assert frame.query("documents == 0").empty
    assert frame["documents"].sum() == 3
    assert (frame["error"] != "").tolist() == [False, True, True, True, True, True, False]
    assert "OR" in frame["error"][1]
    assert "5 terms NOT ANSWERED" in " ".join(frame.result.notes)
    assert frame.result.documents_hit == 2 + 0


def test_repeated_terms_take_nothing_from_each_other(place: Place) -> None:
    """The second asks the same: it is marked, and the first keeps its unique documents."""
    frame = place.kb.coverage(["brass", '"brass"', "harbour", " brass "])
    assert frame["duplicate_of"].tolist() == ["", "brass", "", "brass"]
    assert frame["documents"].tolist() == [2, 2, 2, 2]
    assert frame["unique_documents"].tolist() == [1, 0, 1, 0]
    assert list(frame.overlap.columns) == ["brass", "harbour"]
    assert "2 terms asked the same" in " ".join(frame.result.notes)
    frame = place.kb.coverage(["brass tin", "Tin  BRASS", "lanterns", "Lantern"])
    assert frame["duplicate_of"].tolist() == ["", "brass tin", "", ""]


def test_what_markup_hides_is_a_note(tmp_path: Path) -> None:
    """A phrase that further documents hold for a reader only, per term and of the whole list."""
    place = make(tmp_path, {"a.md": "a [brass](x.md) ring\n", "b.md": "a brass ring\n"})
    frame = place.kb.coverage(['"brass ring"', "ring"])
    assert frame["documents"].tolist() == [1, 2]
    assert frame["notes"][0].startswith('1 document holds "brass ring" for a reader only:')
    assert frame["notes"][0].endswith("not counted for it: a.md.")
    assert frame["notes"][1] == ""
    assert any('`"brass ring"` (1)' in note for note in frame.result.notes)
    for listed in (["brass-ring", '"brass ring"'], ['"brass ring"', "brass-ring"]):
        assert any("(1)" in note for note in place.kb.coverage(listed).result.notes)
    sets = place.kb.match_set("ring") - place.kb.match_set('"brass ring"')
    assert any("a.md" in note for note in sets.notes)
    place.kb.close()


def test_what_was_left_out_of_a_term_is_a_note(place: Place) -> None:
    """Of the whole list, since a table of numbers does not show it."""
    frame = place.kb.coverage(["lantern -x", "tin"])
    assert any("`lantern -x` (`-x` (" in note for note in frame.result.notes)


def test_a_term_called_term_and_a_folder_called_term(tmp_path: Path) -> None:
    """Names of columns never collide with the first one."""
    place = make(tmp_path, {"term/a.md": "a term\n", "b.md": "group label\n"})
    frame = place.kb.coverage(["term", "group", "label"])
    assert frame.overlap.loc["term", "term"] == 1
    assert frame.by_folder.loc["term", "term"] == 1
    assert frame.by_folder.columns.tolist() == [".", "term"]
    place.kb.close()


def test_groups_are_unions(place: Place) -> None:
    """A row per group, compared among groups."""
    listed = [("brass", "", "metal"), ("tin", "", "metal"), ("harbour", "", "place"), ("oars",)]
    frame = place.kb.coverage(listed, by="group")
    assert frame["group"].tolist() == ["metal", "place", ""]
    assert frame["documents"].tolist() == [3, 2, 1]
    assert frame["unique_documents"].tolist() == [1, 1, 0]
    assert frame["terms"].tolist() == [2, 1, 1]
    assert frame.chart()._repr_png_().startswith(b"\x89PNG")
    # A term of two groups is one of each; within a group it counts once.
    listed = [("brass", "", "a"), ("brass", "", "b"), ("oars", "", "b"), ("Brass", "", "b")]
    frame = place.kb.coverage(listed, by="group")
    assert frame["group"].tolist() == ["a", "b"]
    assert frame["documents"].tolist() == [2, 3]
    assert frame["unique_documents"].tolist() == [0, 1]
    assert frame["terms"].tolist() == [1, 2]
    # A group without an answer is in the list, and has no numbers.
    listed = [("brass", "", "a"), ("a OR b", "", "a"), ("x*", "", "b")]
    frame = place.kb.coverage(listed, by="group")
    assert frame["group"].tolist() == ["a", "b"]
    assert frame["terms"].tolist() == [1, 0]
    assert frame["terms_not_answered"].tolist() == [1, 1]
    assert frame["documents"].tolist() == [2, pd.NA]
    assert frame["share"].isna().tolist() == [False, True]
    drawn = [frame.chart(), place.kb.coverage(listed).chart(), place.kb.coverage(listed).heatmap()]
    assert all("2 terms not answered" in figure.axes[0].get_xlabel() for figure in drawn)
    with pytest.raises(ConfigurationError):
        place.kb.coverage(listed, by="folder")


def test_completeness_is_stated(place: Place) -> None:
    """As for enumerate: what the counts cover, the folder, and what is not covered."""
    place.write("big.md", b"x" * 600_000)
    place.index()
    frame = place.kb.coverage(["harbour"], under="sub")
    assert frame.result.completeness.skipped == {"too large": 1}
    assert "1 skipped (1 too large)" in frame.result.completeness.statement()
    assert frame.result.documents == 3
    assert "Only 'sub' was looked at: 3 of 6 documents." in frame.result.notes
    assert "1 of 3 documents under sub hit by any of 1 term" in frame.result.notes[0]
    assert "too large" in frame._repr_html_()
    unknown = place.kb.coverage(["harbour"], under="nowhere")
    assert unknown.result.documents == 0
    assert "No indexed document lies under" in " ".join(unknown.result.notes)


def test_no_answer_without_a_corpus(tmp_path: Path) -> None:
    """Not built and empty are errors, never a table of zeros."""
    kb = open_knowledge(tmp_path / "store")
    with pytest.raises(IndexNotBuiltError):
        kb.coverage(["a word"])
    with pytest.raises(IndexNotBuiltError):
        kb.match_set("word")
    with pytest.raises(IndexNotBuiltError):
        kb.audit_files()
    (tmp_path / "docs").mkdir()
    kb.index(tmp_path / "docs")
    with pytest.raises(CorpusEmptyError):
        kb.coverage(["a word"])
    kb.close()


def test_the_sample_list(handbook: KnowledgeBase) -> None:
    """data/terms.csv has its gaps found, and all charts draw."""
    frame = handbook.coverage(DATA / "terms.csv")
    held = dict(zip(frame["term"], frame["documents"], strict=True))
    assert held["ransomware"] == held["asbestos"] == 0
    assert held["retention"] > 0
    assert (frame["error"] == "").all()
    for name in frame.charts:
        assert frame.chart(name)._repr_png_().startswith(b"\x89PNG")
    assert frame.heatmap(depth=2)._repr_png_().startswith(b"\x89PNG")
    assert frame.upset()._repr_png_().startswith(b"\x89PNG")
    assert handbook.coverage(["zarquon"]).upset()._repr_png_().startswith(b"\x89PNG")


def test_columns_are_the_same_for_every_answer(place: Place) -> None:
    """Also where every term is in error."""
    whole, bad = place.kb.coverage(["lantern"]), place.kb.coverage(["a OR b"])
    assert whole.dtypes.to_dict() == bad.dtypes.to_dict()
    for part in ("uncovered", "smallest_cover", "stem_gain", "groups"):
        assert getattr(whole, part).dtypes.to_dict() == getattr(bad, part).dtypes.to_dict()
    assert bad.overlap.shape == (0, 0)
    assert bad.matrix.shape == (6, 0)


# -- lists of terms --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b'\xef\xbb\xbfterm,label,group\r\nlantern,L,g\r\n\r\n"""brass ring""",B,\r\n'),
        ("t.csv", b'Label,TERM,group\nL,lantern,g\n\nB,"""brass ring"""\n'),
        ("t.csv", b'term;label;group\r\nlantern;L;g\r\n"""brass ring""";B;\r\n'),
        ("t.csv", b'\n\nterm|label\rlantern|L\r"""brass ring"""|B\r'),
        ("t.csv", b'sep=;\r\nterm;label\r\nlantern;L\r\n"""brass ring""";B\r\n'),
        ("t.tsv", b'term\tlabel\tgroup\nlantern\tL\tg\n"""brass ring"""\tB\t\n'),
    ],
)
def test_tables_of_terms(place: Place, tmp_path: Path, name: str, content: bytes) -> None:
    """A byte order mark, Windows line ends, blank lines, any order of columns, semicolons."""
    (tmp_path / name).write_bytes(content)
    frame = place.kb.coverage(tmp_path / name)
    assert frame["term"].tolist() == ["lantern", '"brass ring"']
    assert frame["label"].tolist() == ["L", "B"]
    assert frame["documents"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("term\nfrost, zzz\n", "row 1 of .* has 2 cells under 1 columns"),
        ("retention, backup\n", "several columns and no header"),
        ("lantern,L,g\ntin,T,g\n", "several columns and no header"),
        ("Terms,Label\nlantern,L\n", "several columns and no header"),
        ("keyword\nlantern\n", "looks like a header"),
        ("Search Term\nlantern\n", "looks like a header"),
        ("Keyword;Label\nlantern;L\n", "every line of .* holds ';'"),
        ("lantern;L\ntin;T\n", "every line of .* holds ';'"),
        ("lantern|L\rtin|T\r", "every line of .* holds '|'"),
        ("term,term\nlantern,tin\n", "two columns 'term'"),
        ("term,label\nlantern,L\n,empty\n", "row 2 of the list has no term, only 'empty'"),
    ],
)
def test_nothing_of_a_table_is_dropped_or_guessed(
    place: Place, tmp_path: Path, content: str, message: str
) -> None:
    """A cell that would be left out, or a column that would be guessed, is refused with the fix."""
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        place.kb.coverage(tmp_path / "t.csv")


def test_a_table_of_one_column_needs_no_header(place: Place, tmp_path: Path) -> None:
    """A term a row, quoted where it holds a comma; other columns than ours are not read."""
    (tmp_path / "t.csv").write_text('lantern\n"tin, oars"\n')
    assert place.kb.coverage(tmp_path / "t.csv")["documents"].tolist() == [2, 1]
    (tmp_path / "t.csv").write_text("id,term,remark\n1,lantern,seen\n")
    assert place.kb.coverage(tmp_path / "t.csv")["term"].tolist() == ["lantern"]


def test_text_files_and_frames(place: Place, tmp_path: Path) -> None:
    """A term a line, quotes as they are; a frame with NaN for a missing label."""
    (tmp_path / "t.txt").write_bytes('\ufefflantern\r\n\r\n "brass ring" \rtin\n'.encode())
    frame = place.kb.coverage(str(tmp_path / "t.txt"))
    assert frame["term"].tolist() == ["lantern", '"brass ring"', "tin"]
    given = pd.DataFrame({"term": ["lantern", "tin"], "label": ["L", None]})
    assert place.kb.coverage(given)["label"].tolist() == ["L", ""]
    assert place.kb.coverage([{"term": "tin", "group": "g"}])["group"].tolist() == ["g"]


def test_lists_that_cannot_be_read(place: Place, tmp_path: Path) -> None:
    """Each says what is wrong; the store itself is never opened as a list."""
    (tmp_path / "latin.csv").write_bytes(b"term\ncaf\xe9\n")
    (tmp_path / "empty.csv").write_text("term,label\n\n")
    (tmp_path / "torn.csv").write_text('term\n"open\n')
    database = place.kb.core.files.database
    (tmp_path / "link.csv").symlink_to(database)
    wrong = [
        (tmp_path / "latin.csv", "not UTF-8"),
        (tmp_path / "empty.csv", "empty"),
        (tmp_path / "torn.csv", "no CSV"),
        (tmp_path / "none.csv", "cannot read"),
        (tmp_path, "cannot read"),
        (database, "the store itself"),
        (tmp_path / "link.csv", "the store itself"),
        ([], "empty"),
        ([3], "is no term"),
        (7, "from int"),
        (pd.DataFrame({"word": ["a"]}), "no column 'term'"),
        (pd.DataFrame([["a", "b"]], columns=["term", "Term"]), "the same name"),
        ({"term": "tin"}, "from dict"),
    ]
    for source, message in wrong:
        with pytest.raises(ConfigurationError, match=message):
            place.kb.coverage(source)


def test_five_thousand_terms(place: Place) -> None:
    """A long list is answered whole."""
    frame = place.kb.coverage([f"word{number}" for number in range(4_999)] + ["tin"])
    assert len(frame) == 5_000
    assert frame.result.documents_hit == 1


# -- sets ------------------------------------------------------------------------------------


def test_set_algebra_is_that_of_python_sets(place: Place) -> None:
    """Against the paths that enumerate lists."""
    kb = place.kb
    brass, harbour = kb.match_set("brass"), kb.match_set("harbour")
    a, b = set(kb.enumerate("brass")["path"]), set(kb.enumerate("harbour")["path"])
    every = set(kb.sources()["path"])
    assert set(brass | harbour) == a | b
    assert set(brass & harbour) == a & b
    assert set(brass - harbour) == a - b
    assert set(~brass) == every - a
    assert set(~(brass | harbour) & ~~brass) == set()
    assert len(brass) == 2
    assert "a.md" in brass
    assert len(kb.match_set("zarquon")) == 0
    frame = (brass | harbour).frame()
    assert frame["path"].tolist() == sorted(a | b)


def test_a_set_prints_its_expression_with_counts(place: Place) -> None:
    """The count at every node."""
    kb = place.kb
    text = str((kb.match_set("brass") | kb.match_set("tin")) - ~kb.match_set("lantern"))
    assert text.splitlines() == [
        "([brass] | [tin]) - ~[lantern]: 2 of 6 documents",
        "2  - without",
        "3  ├─ | or",
        "2  │  ├─ [brass]",
        "1  │  └─ [tin]",
        "4  └─ ~ not",
        "2     └─ [lantern]",
    ]
    assert "[brass]" in kb.match_set("brass")._repr_html_()


def test_sets_of_different_states_or_folders_are_not_mixed(place: Place) -> None:
    """An expression is of one state of the index and of one folder."""
    kb = place.kb
    before = kb.match_set("brass")
    with pytest.raises(QueryError, match="different folders"):
        before | kb.match_set("harbour", under="sub")
    place.write("new.md", "brass\n")
    place.index()
    with pytest.raises(QueryError, match="different states"):
        before | kb.match_set("brass")
    with pytest.raises(TypeError):
        before | {"a.md"}  # type: ignore[operator]
    assert set(~kb.match_set("harbour", under="sub")) == {"sub/deep/d.md", "sub/deep/e.md"}
