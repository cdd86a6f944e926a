"""Texts with few other characters, compared with the distance of all texts."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from plate_cameras.store.lists.similar_texts import SimilarTexts
from tests.fuzzing.profiles import quick

short_texts = st.text("AB1", max_size=9)


@quick
@given(
    known_texts=st.lists(st.tuples(short_texts, st.integers(0, 2)), max_size=12), text=short_texts
)
def test_the_texts_within_their_edits_are_found_nearest_first(
    known_texts: list[tuple[str, int]], text: str
) -> None:
    edits = [Levenshtein.distance(known_text, text) for known_text, _ in known_texts]
    near = sorted((edits[at], at) for at, (_, most) in enumerate(known_texts) if edits[at] <= most)
    places = SimilarTexts(
        [known_text for known_text, _ in known_texts], [most for _, most in known_texts]
    ).find(text)
    assert places == [(at, distance) for distance, at in near]
