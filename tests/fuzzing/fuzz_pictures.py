"""Coverage-guided fuzzing of picture decoding: any bytes are decoded or rejected."""

import random

import atheris

with atheris.instrument_imports(include=["orchestrator"]):
    from tests.fuzzing.doors import open_picture

from tests.fuzzing.file_parts import PNG, repair
from tests.fuzzing.hostile import pictures
from tests.fuzzing.session import MAX_BYTES, run

WORDS = (
    "IHDR", "IDAT", "PLTE", "tRNS", "acTL", "fcTL", "fdAT", "eXIf", "zTXt", "iTXt", "IEND", "RIFF",
    "WEBP", "VP8X", "VP8L", "VP8 ", "ANIM", "ANMF", "EXIF", "BM", "Exif\\x00\\x00", "II*\\x00",
    "\\xff\\xd8\\xff", "\\xff\\xc0", "\\xff\\xc2", "\\xff\\xda", "\\xff\\xe1", "\\xff\\xd9",
    "/9j/",
)  # fmt: skip
SEEDS = [file for file in pictures().values() if 0 < len(file) <= MAX_BYTES]
MAX_CHANGED_BYTES = 6


def mutate(file: bytes, max_bytes: int, seed: int) -> bytes:
    """Return a mutated file: by libFuzzer, or a seed with a little damage.

    Coverage does not see into OpenCV. Guided by it alone, nearly all inputs have invalid headers.
    Most PNG files get correct checksums; otherwise decoders reject them unread.
    """
    dice = random.Random(seed)
    mutated_file = (
        atheris.Mutate(file, max_bytes) if dice.random() < 0.3 else damage(dice)[:max_bytes]
    )
    return (
        repair(mutated_file)[:max_bytes]
        if mutated_file.startswith(PNG) and dice.random() < 0.8
        else mutated_file
    )


def damage(dice: random.Random) -> bytes:
    """Return a seed with some of its bytes changed, removed or repeated."""
    file = bytearray(dice.choice(SEEDS))
    for _ in range(dice.randint(1, MAX_CHANGED_BYTES)):
        position = dice.randrange(len(file))
        match dice.randrange(8):
            case 0:
                del file[position : position + dice.randint(1, 8)]
            case 1:
                file[position:position] = file[position : position + dice.randint(1, 64)]
            case _:
                file[position] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        file = file or bytearray(1)
    return bytes(file)


if __name__ == "__main__":
    run(open_picture, SEEDS, WORDS, mutate)
