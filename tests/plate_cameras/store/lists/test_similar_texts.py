"""Similar texts found by pieces, compared with a search of every text."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from plate_cameras.store.lists.list_lookup import SimilarTexts
from tests.fuzzing.profiles import quick

texts = st.text("AB1", max_size=9)


@quick
@given(known=st.lists(st.tuples(texts, st.integers(0, 2)), max_size=12), text=texts)
def test_the_texts_within_their_edits_are_found_nearest_first(
    known: list[tuple[str, int]], text: str
) -> None:
    edits = [Levenshtein.distance(one, text) for one, _ in known]
    near = sorted((edits[at], at) for at, (_, most) in enumerate(known) if edits[at] <= most)
    found = SimilarTexts([one for one, _ in known], [most for _, most in known]).find(text)
    assert found == [(at, distance) for distance, at in near]
