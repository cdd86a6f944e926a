import os
from pathlib import Path

import numpy as np

from orchestrator.cli.sources import Source, choose_drawings, find_pictures
from orchestrator.drawing import to_png

DRAWING = to_png(np.zeros((4, 5, 3), np.uint8))


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a picture")
    return folder


def found(*named: Path) -> list[str]:
    sources, faults = find_pictures(named)
    assert faults == []
    return [str(source.below) for source in sources]


class TestFind:
    def test_nothing_named_is_nothing_found(self) -> None:
        assert find_pictures([]) == ([], [])

    def test_a_file_is_itself_whatever_its_name(self, tmp_path: Path) -> None:
        path = fill(tmp_path, "deep/photo") / "deep" / "photo"
        assert find_pictures([path]) == ([Source(path, Path("photo"))], [])

    def test_a_folder_stands_for_its_pictures_at_any_depth(self, tmp_path: Path) -> None:
        fill(tmp_path, "b/d.JPG", "c.png", "a/b/c/e.webp", "a/z.bmp", "notes.txt", "b/jpg")
        assert found(tmp_path) == ["a/b/c/e.webp", "a/z.bmp", "b/d.JPG", "c.png"]

    def test_pictures_keep_the_way_to_them(self, tmp_path: Path) -> None:
        fill(tmp_path, "photos/a/car.jpg")
        (source,), _ = find_pictures([tmp_path / "photos"])
        assert source.path == tmp_path / "photos" / "a" / "car.jpg"

    def test_the_folder_one_is_in_can_be_named(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(fill(tmp_path, "a/car.jpg"))
        assert find_pictures([Path()]) == ([Source(Path("a/car.jpg"), Path("a/car.jpg"))], [])

    def test_what_is_hidden_is_skipped_unless_named(self, tmp_path: Path) -> None:
        fill(tmp_path, ".cache/a.jpg", "b/.c.jpg", "d.jpg")
        assert found(tmp_path) == ["d.jpg"]
        assert found(tmp_path / ".cache") == ["a.jpg"]

    def test_links_are_not_followed_in_circles(self, tmp_path: Path) -> None:
        fill(tmp_path, "photos/a/1.jpg", "photos/b/2.jpg", "other/3.jpg")
        (tmp_path / "photos" / "a" / "up").symlink_to(tmp_path)
        (tmp_path / "photos" / "a" / "b").symlink_to(tmp_path / "photos" / "b")
        (tmp_path / "other" / "self").symlink_to(tmp_path / "other")
        assert found(tmp_path / "photos") == ["a/1.jpg", "a/up/other/3.jpg", "b/2.jpg"]

    def test_a_link_to_elsewhere_is_followed(self, tmp_path: Path) -> None:
        fill(tmp_path, "disk/1.jpg")
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "here").symlink_to(tmp_path / "disk")
        assert found(tmp_path / "photos") == ["here/1.jpg"]

    def test_drawings_are_no_pictures_of_a_folder(self, tmp_path: Path) -> None:
        fill(tmp_path, "car.jpg", "photo.png")
        (tmp_path / "car.png").write_bytes(DRAWING)
        assert found(tmp_path) == ["car.jpg", "photo.png"]
        assert found(tmp_path / "car.png") == ["car.png"]

    def test_a_folder_without_pictures_is_told_and_the_others_stay(self, tmp_path: Path) -> None:
        fill(tmp_path, "full/a.jpg", "empty/notes.txt")
        sources, (fault,) = find_pictures([tmp_path / "empty", tmp_path / "full"])
        assert [source.path.name for source in sources] == ["a.jpg"]
        assert str(fault) == f"{tmp_path}/empty: no pictures in this folder (drawings are none)"

    def test_what_is_not_there_is_told(self, tmp_path: Path) -> None:
        sources, (fault,) = find_pictures([tmp_path / "gone.jpg"])
        assert sources == []
        assert str(fault) == f"{tmp_path}/gone.jpg: no such file or folder"

    def test_a_folder_that_cannot_be_read_is_told(self, tmp_path: Path, monkeypatch) -> None:
        fill(tmp_path, "a/1.jpg", "b/2.jpg")
        scan = os.scandir

        def guarded(path):
            if Path(path).name == "b":
                raise PermissionError(13, "Permission denied", path)
            return scan(path)

        monkeypatch.setattr("os.scandir", guarded)
        sources, (fault,) = find_pictures([tmp_path])
        assert [source.path.name for source in sources] == ["1.jpg"]
        assert str(fault) == f"{tmp_path}/b: cannot be read: Permission denied"


def drawn(folder: Path, *named: Path) -> list[str]:
    """Names of the drawings in their folder, after writing them."""
    chosen = choose_drawings(find_pictures(named)[0], folder)
    for path in chosen.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DRAWING)
    return [str(path.relative_to(folder)) for path in chosen.values()]


class TestDrawings:
    def test_the_tree_is_kept(self, tmp_path: Path) -> None:
        photos = fill(tmp_path / "photos", "a/car.jpg", "b/car.jpg", "c.jpg")
        assert drawn(tmp_path / "drawn", photos) == ["a/car.png", "b/car.png", "c.png"]

    def test_pictures_of_one_name_are_numbered_and_the_next_run_does_the_same(
        self, tmp_path: Path
    ) -> None:
        fill(tmp_path, "1/car.jpg", "1/car.png", "1/car.webp", "2/car.jpg", "2/car-2.jpg")
        named = [tmp_path / "1", tmp_path / "2" / "car.jpg", tmp_path / "2" / "car-2.jpg"]
        names = ["car.png", "car-2.png", "car-3.png", "car-4.png", "car-2-2.png"]
        assert drawn(tmp_path / "drawn", *named) == names
        assert drawn(tmp_path / "drawn", *named) == names

    def test_a_picture_named_twice_is_drawn_once(self, tmp_path: Path) -> None:
        photos = fill(tmp_path / "photos", "car.jpg")
        assert drawn(tmp_path, photos, photos / "car.jpg") == ["car.png"]

    def test_a_source_is_never_overwritten(self, tmp_path: Path) -> None:
        fill(tmp_path, "car.jpg", "car.png", "van.png")
        names = ["car-2.png", "car-3.png", "van-2.png"]
        assert drawn(tmp_path, tmp_path) == names
        assert drawn(tmp_path, tmp_path) == names
        assert (tmp_path / "car.png").read_bytes() == b"a picture"

    def test_neither_is_a_drawing_that_is_the_source(self, tmp_path: Path) -> None:
        (tmp_path / "car.png").write_bytes(DRAWING)
        assert drawn(tmp_path, tmp_path / "car.png") == ["car-2.png"]

    def test_nor_a_source_that_is_reached_by_another_way(self, tmp_path: Path) -> None:
        fill(tmp_path, "photos/car.png")
        (tmp_path / "drawn").symlink_to(tmp_path / "photos")
        assert drawn(tmp_path / "drawn", tmp_path / "photos" / "car.png") == ["car-2.png"]

    def test_nor_a_file_that_is_no_drawing(self, tmp_path: Path) -> None:
        fill(tmp_path, "photos/car.jpg", "drawn/car.png")
        assert drawn(tmp_path / "drawn", tmp_path / "photos") == ["car-2.png"]

    def test_names_that_differ_by_case_alone_are_numbered(self, tmp_path: Path) -> None:
        fill(tmp_path, "1/Car.jpg", "2/car.jpg")
        assert drawn(tmp_path / "drawn", tmp_path / "1", tmp_path / "2") == ["Car.png", "car-2.png"]
