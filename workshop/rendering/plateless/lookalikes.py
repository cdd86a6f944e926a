"""Things that look like plates and are none: signs, adverts, boards, grilles, bar codes.

Each function draws one kind from a seeded generator. No text on them fits a Russian format: words
have at least four letters, and everything else is at most four characters long or has digits alone.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from orchestrator.imaging.files import Bgr
from workshop.rendering.camera import cloud, random_colour
from workshop.rendering.painting import Colour
from workshop.rendering.plateless.lettering import random_row, stamp, strange_row
from workshop.rendering.russia_parts import BLACK, BLUE, RED, WHITE, YELLOW

WORDS = (
    "AUTO", "MARKET", "SERVICE", "TAXI", "CAFE", "BANK", "HOTEL", "SALE", "RENT", "PIZZA", "SHOP",
    "ABTO", "KACCA", "TABAK", "PEMOHT", "TEATP", "BEKTOP", "CAXAP", "MOTOP", "KOMETA", "OKHA",
)  # fmt: skip
"""Words of signs; the second line has only letters of Russian plates."""
GREEN, AMBER = (60, 130, 40), (40, 160, 250)


def draw_lookalike(rng: np.random.Generator, kind: str) -> Bgr:
    """Draw a random thing of a kind, seen straight on: (H, W, 3) uint8 BGR.

    Raises:
        KeyError: There is no such kind.
    """
    picture = KINDS[kind](rng)
    shade = 0.88 + 0.24 * cloud(rng, (picture.shape[0], picture.shape[1]), 3)[:, :, None]
    return (picture * shade).clip(0, 255).astype(np.uint8)


def digits(rng: np.random.Generator, count: int) -> str:
    return "".join(map(str, rng.integers(0, 10, count)))


def word(rng: np.random.Generator) -> str:
    return str(rng.choice(WORDS))


def phone(rng: np.random.Generator) -> str:
    """Return a telephone number in one of the ways to write it; ten digits or more."""
    start = str(rng.choice(["8 800", "8-495", "8 9" + digits(rng, 2), "7 9" + digits(rng, 2)]))
    joint = str(rng.choice(["-", " ", ""]))
    return f"{start} {joint.join((digits(rng, 3), digits(rng, 2), digits(rng, 2)))}"


def caption(rng: np.random.Generator) -> str:
    """Return the date and time that a camera writes into its pictures."""
    year, month, day = rng.integers([2018, 1, 1], [2026, 13, 29]).tolist()
    hour, minute, second = rng.integers(0, [24, 60, 60]).tolist()
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    dates = (
        f"{year}-{month:02d}-{day:02d}",
        f"{day:02d}.{month:02d}.{year}",
        f"{day:02d}/{month:02d}/{year}",
    )
    return f"{dates[int(rng.integers(3))]} {clock}"


def _board(width: int, height: int, paper: Colour) -> Bgr:
    board: Bgr = np.full((height, width, 3), paper, np.uint8)
    return board


def _frame(board: Bgr, ink: Colour, room_px: int = 6, pen_px: int = 4) -> None:
    height, width = board.shape[:2]
    cv2.rectangle(board, (room_px, room_px), (width - room_px, height - room_px), ink, pen_px)


def _write_rows(rng: np.random.Generator, board: Bgr, rows: list[str], ink: Colour) -> None:
    """Write rows of one height below each other."""
    height, width = board.shape[:2]
    pitch = height / (len(rows) + 0.4)
    for index, row in enumerate(rows):
        mask = random_row(rng, row, round(pitch * rng.uniform(0.55, 0.75)))
        stamp(board, mask, (width / 2, pitch * (index + 0.7)), ink, 0.88 * width)


def _inks(rng: np.random.Generator) -> tuple[Colour, Colour]:
    """Return paper and ink of an advert: mostly dark on white."""
    pairs = (
        (WHITE, BLACK),
        (WHITE, BLACK),
        (WHITE, BLUE),
        (YELLOW, BLACK),
        (RED, WHITE),
        (BLUE, WHITE),
    )
    return pairs[int(rng.integers(len(pairs)))]


def _road_sign(rng: np.random.Generator) -> Bgr:
    if rng.random() < 0.5:
        board = _board(240, 240, YELLOW if rng.random() < 0.5 else (150, 150, 150))
        cv2.circle(board, (120, 120), 112, RED, -1, cv2.LINE_AA)
        cv2.circle(board, (120, 120), 92, WHITE, -1, cv2.LINE_AA)
        stamp(board, random_row(rng, f"{rng.integers(1, 12)}0", 96), (120, 120), BLACK, 130)
        return board
    board = _board(420, int(rng.integers(100, 260)), BLUE if rng.random() < 0.6 else GREEN)
    rows = [f"{word(rng)} {rng.integers(1, 999)}" for _ in range(1 + (board.shape[0] > 170))]
    _write_rows(rng, board, rows, WHITE)
    _frame(board, WHITE)
    return board


def _shop_sign(rng: np.random.Generator) -> Bgr:
    board = _board(int(rng.integers(300, 640)), 120, random_colour(rng))
    text = word(rng) if rng.random() < 0.5 else f"{word(rng)} 24"
    ink = WHITE if board.mean() < 128 else BLACK
    _write_rows(rng, board, [text], ink)
    return board


def _advert(rng: np.random.Generator) -> Bgr:
    paper, ink = _inks(rng)
    rows = [word(rng), phone(rng)] if rng.random() < 0.6 else [word(rng), word(rng), phone(rng)]
    board = _board(440, 110 * len(rows), paper)
    _write_rows(rng, board, rows, ink)
    if rng.random() < 0.5:
        _frame(board, ink)
    return board


def _phone_board(rng: np.random.Generator) -> Bgr:
    """Draw a telephone number in a frame of a plate's proportion."""
    paper, ink = _inks(rng)
    board = _board(520, 112, paper)
    _write_rows(rng, board, [phone(rng)], ink)
    if rng.random() < 0.7:
        _frame(board, ink)
    return board


def _dealer_board(rng: np.random.Generator) -> Bgr:
    """Draw a dealer's board for the place of a plate: a word, two, or a word and a number."""
    paper, ink = _inks(rng)
    board = _board(520, 112, paper)
    text = (word(rng), f"{word(rng)} {word(rng)}", f"{word(rng)} {digits(rng, 3)}")
    _write_rows(rng, board, [text[int(rng.integers(3))]], ink)
    if rng.random() < 0.6:
        _frame(board, ink)
    return board


def _route_board(rng: np.random.Generator) -> Bgr:
    is_lit = rng.random() < 0.5
    board = _board(560, 110, BLACK if is_lit else WHITE)
    ink = AMBER if is_lit else BLACK
    route = digits(rng, int(rng.integers(1, 4)))
    stamp(board, random_row(rng, route, 80), (70, 55), ink, 120)
    stamp(board, random_row(rng, f"{word(rng)} - {word(rng)}", 52), (345, 55), ink, 390)
    if is_lit:  # rows and columns of lamps
        board[::5] //= 4
        board[:, ::5] //= 4
    return board


def _price_tag(rng: np.random.Generator) -> Bgr:
    board = _board(300, 200, YELLOW if rng.random() < 0.5 else WHITE)
    ink = RED if rng.random() < 0.4 else BLACK
    stamp(board, random_row(rng, word(rng), 34), (150, 32), BLACK, 260)
    stamp(board, random_row(rng, digits(rng, int(rng.integers(2, 5))), 110), (115, 125), ink, 200)
    stamp(board, random_row(rng, "90", 50), (255, 95), ink, 70)
    return board


def _house_number(rng: np.random.Generator) -> Bgr:
    paper, ink = (BLUE, WHITE) if rng.random() < 0.7 else (WHITE, BLACK)
    letter = str(rng.choice(["", "", "A", "B"]))
    number = f"{rng.integers(1, 199)}{letter}"
    if rng.random() < 0.5:
        board = _board(220, 160, paper)
        stamp(board, random_row(rng, number, 100), (110, 80), ink, 190)
    else:
        board = _board(520, 112, paper)
        stamp(board, random_row(rng, word(rng), 50), (190, 56), ink, 320)
        stamp(board, random_row(rng, number, 76), (440, 56), ink, 120)
    _frame(board, ink)
    return board


def _bar_code(rng: np.random.Generator) -> Bgr:
    board = _board(380, int(rng.integers(90, 200)), WHITE)
    foot, x = board.shape[0] - 34, 16
    while x < 356:
        width = int(rng.integers(2, 9))
        board[10:foot, x : x + width] = BLACK
        x += width + int(rng.integers(2, 9))
    stamp(board, random_row(rng, digits(rng, 13), 22), (190, foot + 18), BLACK, 340)
    return board


def _grille(rng: np.random.Generator) -> Bgr:
    """Draw a lattice or the grille of a radiator: bars before a dark ground."""
    board = _board(int(rng.integers(320, 560)), int(rng.integers(100, 180)), (24, 24, 26))
    bar = (200, 200, 205) if rng.random() < 0.5 else random_colour(rng)
    pitch, pen = int(rng.integers(14, 50)), int(rng.integers(3, 10))
    height, width = board.shape[:2]
    way = int(rng.integers(4))
    if way in (0, 2):
        for x in range(pitch // 2, width, pitch):
            cv2.line(board, (x, 0), (x, height), bar, pen)
    if way in (1, 2):
        for y in range(pitch // 2, height, pitch):
            cv2.line(board, (0, y), (width, y), bar, pen)
    if way == 3:
        for x in range(-height, width + height, pitch):
            cv2.line(board, (x, 0), (x + height, height), bar, pen)
            cv2.line(board, (x, height), (x + height, 0), bar, pen)
    _frame(board, bar, room_px=2, pen_px=8)
    return board


def _other_alphabet(rng: np.random.Generator) -> Bgr:
    """Draw a board in signs of no alphabet, some of them with digits."""
    paper, ink = _inks(rng)
    board = _board(520, 112, paper)
    mask = strange_row(rng, int(rng.integers(3, 8)), 66)
    if rng.random() < 0.5:
        stamp(board, mask, (260, 56), ink, 460)
    else:
        stamp(board, mask, (170, 56), ink, 280)
        stamp(board, random_row(rng, digits(rng, int(rng.integers(2, 5))), 70), (415, 56), ink, 160)
    if rng.random() < 0.6:
        _frame(board, ink)
    return board


KINDS: dict[str, Callable[[np.random.Generator], Bgr]] = {
    "road sign": _road_sign,
    "shop sign": _shop_sign,
    "advert": _advert,
    "phone board": _phone_board,
    "dealer board": _dealer_board,
    "route board": _route_board,
    "price tag": _price_tag,
    "house number": _house_number,
    "bar code": _bar_code,
    "grille": _grille,
    "other alphabet": _other_alphabet,
}
"""Functions that draw things of each kind."""
