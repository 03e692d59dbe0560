"""The error tree: which step failed is told by type alone."""

from __future__ import annotations

import httpx
import pytest

from knowledge_nb.embedding import errors
from knowledge_nb.embedding.transport import Deadline, translate
from knowledge_nb.errors import EmbeddingError, KnowledgeError

OURS = {name: getattr(errors, name) for name in errors.__all__}


def _below(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*(_below(each) for each in kind.__subclasses__()))


def test_every_error_is_in_the_tree_and_in_its_drawing() -> None:
    """One root, and the module's docstring names every class."""
    defined = {k for k, v in vars(errors).items() if isinstance(v, type)} - {
        "MissingDependencyError"
    }
    assert defined == set(OURS)
    for name, kind in OURS.items():
        assert issubclass(kind, EmbeddingError)
        assert issubclass(kind, KnowledgeError)
        assert name in (errors.__doc__ or "")


def test_a_wrong_width_is_never_a_reason_to_degrade() -> None:
    """DimensionMismatch lies outside of what a search may go on after."""
    assert not issubclass(errors.DimensionMismatch, errors.EmbedderUnavailable)
    assert not issubclass(errors.BlankTextError, errors.EmbedderUnavailable)


@pytest.mark.parametrize(
    "kind", sorted(_below(httpx.RequestError) - {httpx.RequestError}, key=lambda k: k.__name__)
)
def test_no_error_of_httpx_is_missed(kind: type[httpx.RequestError]) -> None:
    """Each becomes one of ours; every timeout becomes EmbedderTimeout, whatever step it struck."""
    ours = translate(kind("reason"), "http://h/v1/embeddings", Deadline.after(3))
    assert isinstance(ours, errors.EmbedderUnavailable)
    assert "http://h/v1/embeddings" in str(ours)
    timeout = issubclass(kind, httpx.TimeoutException)
    assert isinstance(ours, errors.EmbedderTimeout) is timeout
    if issubclass(kind, httpx.ConnectError):
        assert type(ours) is errors.EmbedderUnreachable
