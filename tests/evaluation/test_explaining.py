"""Why a document stands where it stands: exact places, parts that add up, changes that work."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowledge_nb as knb
from knowledge_nb.evaluation.entering import Situation, entries
from knowledge_nb.evaluation.explaining_words import _way
from knowledge_nb.evaluation.topics import read_topics
from tests.evaluation.conftest import TOPICS, fill

QUERY = "how long are temperature readings kept"
SOME = dict(list(read_topics(TOPICS).items())[::5])


def test_parts_of_the_words_sum_to_the_score(vectors_kb: knb.KnowledgeBase) -> None:
    """BM25 is a sum over terms: to 1e-6, for every chunk that ranks, on several queries."""
    checked = 0
    for query in SOME.values():
        hits = vectors_kb.core.search(query, k=400, mode="lexical").hits
        for hit in hits[:: max(1, len(hits) // 12)]:
            why = vectors_kb.explain(query, hit.citation, mode="lexical")
            assert why["score"][0] == pytest.approx(hit.lexical_score, abs=1e-9)
            assert why.terms["weight"].sum() == pytest.approx(hit.lexical_score, abs=1e-6)
            checked += 1
    assert checked > 50


def test_a_word_said_twice_counts_twice(small: knb.KnowledgeBase) -> None:
    """As in the search."""
    hit = small.core.search("lantern lantern tin", k=1).hits[0]
    why = small.explain("lantern lantern tin", hit.citation)
    terms = why.terms.set_index("term")
    assert terms.loc["lantern", "times"] == 2
    assert why.terms["weight"].sum() == pytest.approx(hit.score, abs=1e-6)


def test_words_left_out_because_they_stand_everywhere_are_marked(tmp_path: Path) -> None:
    """They add nothing beside a rarer word, and everything where the chunk holds no other."""
    files = {f"{n}.md": f"# Page\n\nthe note {'lantern' * (n < 2)} {n}\n" for n in range(6)}
    with knb.open(tmp_path / "knowledge") as kb:
        kb.index(fill(tmp_path / "docs", files))
        rare = kb.explain("the lantern", "0.md").terms.set_index("term")
        assert (rare.loc["the", "status"], rare.loc["the", "weight"]) == ("common", 0.0)
        assert rare.loc["lantern", "status"] == "matched"
        only = kb.explain("the lantern", "5.md")
        assert only.terms.set_index("term").loc["the", "status"] == "matched"
        assert only.terms["weight"].sum() == pytest.approx(only["score"][0], abs=1e-6)


def test_ranks_are_exact_also_outside_the_candidates(vectors_kb: knb.KnowledgeBase) -> None:
    """Of the whole ranking, of either tier, as a search for everything gives it."""
    for mode, row in (("lexical", 0), ("vector", 1)):
        hits = vectors_kb.core.search(QUERY, k=1000, mode=mode).hits
        for hit in (hits[0], hits[59], hits[-1]):
            why = vectors_kb.explain(QUERY, hit.citation, mode="fused")
            assert why["rank"][row] == hit.rank
            assert why["ranked"][row] == len(hits)
            documents = list(dict.fromkeys(each.path for each in hits))
            assert why["document_rank"][row] == documents.index(hit.path) + 1


def test_contributions_sum_to_the_fused_score(vectors_kb: knb.KnowledgeBase) -> None:
    """Those of the chunk that stands for the document, as in the search."""
    for hit in vectors_kb.core.search(QUERY, k=50, mode="fused").hits:
        for target in (hit.citation, hit.path):
            why = vectors_kb.explain(QUERY, target, k=50)
            assert why["contribution"][0] + why["contribution"][1] == why["score"][2]
        assert why["rank"][2] <= hit.rank
    exact = vectors_kb.explain(QUERY, hit.citation, k=50)
    assert exact["rank"][2] == hit.rank
    assert exact["score"][2] == hit.score


def test_what_would_bring_it_in_does(vectors_kb: knb.KnowledgeBase) -> None:
    """Every change that is named, made alone in a real search, puts it into the top k."""
    kinds = set()
    for target in ("policies/retention.md", "policies/retention.md#1", "index.md"):
        for k in (2, 3):
            why = vectors_kb.explain(QUERY, target, k=k)
            for change, value, rank in why.entries.itertuples(index=False):
                kinds.add(change)
                options = {
                    "k": {"k": int(value)},
                    "window": {"k": k, "window": int(value)},
                    "lexical_weight": {"k": k, "weights": (value, 1.0)},
                    "vector_weight": {"k": k, "weights": (1.0, value)},
                }[change]
                hits = vectors_kb.core.search(QUERY, mode="fused", **options).hits
                found = [h.rank for h in hits if target in (h.citation, h.path)]
                assert found[0] == rank
    assert {"k", "lexical_weight", "vector_weight"} <= kinds


rankings = st.permutations(range(12)).flatmap(
    lambda order: st.integers(0, 12).map(lambda size: list(order[:size]))
)


@given(rankings, rankings, st.integers(0, 11), st.integers(1, 4), st.integers(1, 12))
def test_entries_on_any_rankings(
    words: list[int], near: list[int], chunk: int, k: int, window: int
) -> None:
    """Each is verified; where a fine scan finds a weight, one is named, and no farther off."""
    situation = Situation(words, near, k, (1.0, 1.0), 60, window)
    found = {entry.change: entry for entry in entries(situation, [chunk])}
    at = situation.rank([chunk])
    if at is not None and at <= k:
        assert found == {}
        return
    for entry in found.values():
        assert entry.rank <= (entry.value if entry.change == "k" else k)
    scan = [n / 50 for n in range(1, 200)]
    for name, pair in (
        ("lexical_weight", lambda w: (w, 1.0)),
        ("vector_weight", lambda w: (1.0, w)),
    ):
        inside = [
            w for w in scan if (rank := situation.rank([chunk], weights=pair(w))) and rank <= k
        ]
        if inside:
            nearest = min(abs(w - 1) for w in inside)
            assert name in found
            assert abs(found[name].value - 1) <= nearest + 0.02
    wider = [situation.rank([chunk], window=w) for w in range(window + 1, 13)]
    candidate = chunk in words[:window] or chunk in near[:window]
    if not candidate and any(rank is not None and rank <= k for rank in wider):
        assert "window" in found


@given(st.randoms(use_true_random=False), st.integers(1, 60), st.sampled_from(["", "w", "n"]))
def test_no_smaller_k_does(random: Random, k: int, off: str) -> None:
    """Against every k tried in turn, below, at and beyond the window that grows with it."""
    words, near = (random.sample(range(90), random.randint(0, 80)) for _ in range(2))
    weights = (0.0 if off == "w" else random.choice([1.0, 0.2]), 0.0 if off == "n" else 1.0)
    chunks = random.sample(range(90), 2)
    situation = Situation(words, near, k, weights, 60, random.choice([None, None, 20]))
    at = situation.rank(chunks)
    if at is not None and at <= k:
        return
    ranks = (
        (each, situation.rank(chunks, window=situation.window or max(50, each)))
        for each in range(k, 91)
    )
    smallest = next(((each, rank) for each, rank in ranks if rank and rank <= each), None)
    found = next((each for each in entries(situation, chunks) if each.change == "k"), None)
    assert (found and (found.value, found.rank)) == smallest


def test_the_k_that_is_printed_is_the_smallest(vectors_kb: knb.KnowledgeBase) -> None:
    """A tier alone: a document comes in at its rank there, and not one before."""
    target = "policies/retention.md#0"
    why = vectors_kb.explain(QUERY, target, mode="fused", weights=(0, 1))
    assert "With k = 224 it is in, at rank 224." in why.text
    for k, there in ((223, False), (224, True)):
        hits = vectors_kb.core.search(QUERY, k=k, mode="fused", weights=(0, 1)).hits
        assert (target in {hit.citation for hit in hits}) is there


def test_in_words(vectors_kb: knb.KnowledgeBase) -> None:
    """Window and rank are said as the issue has them."""
    why = vectors_kb.explain(QUERY, "policies/retention.md#0", k=5)
    assert "it holds none of the words" in why.text
    assert "not in the window of 50: rank 224" in why["why"][1]
    assert why["why"][2] == "not in the window of 50: vector rank 224"
    first = vectors_kb.core.search(QUERY, k=1, mode="fused").hits[0]
    assert f"{first.path} is in the top 5" in vectors_kb.explain(QUERY, first.path, k=5).text


def test_a_lexical_store_has_one_tier(small: knb.KnowledgeBase) -> None:
    """The others say that they were not asked."""
    why = small.explain("lantern", "b.md", k=1)
    assert why.result.mode == "lexical"
    assert list(why["rank"].isna()) == [False, True, True]
    assert "no vectors were asked for" in why["why"][1]
    assert why["why"][2] == "not fused: mode lexical"


@pytest.mark.parametrize("target", ["nope.md", "a.md#7", "nope.md#0", "#"])
def test_what_the_index_has_not_is_not_explained(small: knb.KnowledgeBase, target: str) -> None:
    """An error that names it, never a row without a rank."""
    with pytest.raises(knb.NotFoundError):
        small.explain("lantern", target)


def test_a_query_of_nothing_and_a_document_outside_the_folder(small: knb.KnowledgeBase) -> None:
    """Both are said."""
    why = small.explain("?", "a.md")
    assert "nothing of the query can be searched by words" in why["why"][0]
    with pytest.raises(knb.NotFoundError, match="does not lie under"):
        small.explain("lantern", "a.md", under="b.md")
    with pytest.raises(knb.QueryError):
        small.explain("lantern", "a.md", k=0)


def test_weights_as_they_are_printed_do_it(vectors_kb: knb.KnowledgeBase) -> None:
    """Typed back from the sentence, they give the rank that it says; they are short, too."""
    typed = []
    documents = list(vectors_kb.sources()["path"])[::3]
    for query in list(SOME.values())[:4]:
        for target in documents:
            why = vectors_kb.explain(query, target, k=3, mode="fused")
            for sentence in why.text.splitlines():
                said = re.match(
                    r"With weights = \(([^,]+), ([^)]+)\) it is in the top 3, at rank (\d)",
                    sentence,
                )
                if said is None:
                    continue
                weights = (float(said[1]), float(said[2]))
                hits = vectors_kb.core.search(query, k=3, mode="fused", weights=weights).hits
                assert [h.path for h in hits].index(target) + 1 == int(said[3])
                typed.append(max(said[1], said[2], key=len))
    assert len(typed) > 10
    assert sum(len(each) <= 6 for each in typed) > len(typed) / 2


@given(rankings, rankings, st.integers(0, 11), st.integers(1, 3), st.floats(0.01, 50))
def test_a_weight_is_verified_as_it_is_printed(
    words: list[int], near: list[int], chunk: int, k: int, fixed: float
) -> None:
    """Whatever the other weight, what is printed reads back as what was verified."""
    situation = Situation(words, near, k, (fixed, 1.0), 60, None)
    for entry in entries(situation, [chunk]):
        if entry.change.endswith("weight"):
            pair = (entry.value, 1.0) if entry.change[0] == "l" else (fixed, entry.value)
            numbers = _way(entry, k, (fixed, 1.0)).partition("(")[2].partition(")")[0].split(", ")
            assert tuple(float(number) for number in numbers) == pair
            assert situation.rank([chunk], weights=pair) == entry.rank


def test_a_tier_that_is_off_is_said_to_be(vectors_kb: knb.KnowledgeBase) -> None:
    """Weight 0: it takes no part, whatever its rank; the other tier's order is the fused one."""
    by_words = vectors_kb.core.search(QUERY, k=5, mode="lexical").hits
    for rank, hit in enumerate(by_words, start=1):
        why = vectors_kb.explain(QUERY, hit.citation, mode="fused", weights=(1, 0))
        assert why["rank"][2] == rank
        assert "its weight 0 turns this tier off" in why["why"][1]
        assert list(why["in_window"]) == [True, False, True]
        assert why["contribution"][1] == 0.0
    alone = vectors_kb.explain(QUERY, "policies/retention.md#0", mode="fused", weights=(1, 0))
    assert "vector rank 224 (off: weight 0)" in alone["why"][2]
