"""Pages and signs with their texts: for a first look, tests and benchmarks."""

from workshop.rendering.pages import Page

LETTER = ("Dear Ms. Miller,", "your order of 24 November 2026", "is on its way: parcel 7F-2210.")
PAGES = {
    "sign": Page(("EXIT ONLY",), (480, 160), 64, "white", "darkblue"),
    "turned sign": Page(("Platform 12", "to the trains"), (640, 480), 56, "black", "gold", 12),
    "letter": Page((*LETTER, "Harbour Books & Maps"), (800, 600)),
    "page": Page(LETTER * 12, (1240, 1754)),
    "blank": Page((), (640, 480)),
}
