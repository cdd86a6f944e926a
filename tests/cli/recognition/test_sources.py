import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from orchestrator.cli.recognition.job import Input
from orchestrator.cli.recognition.options import SourceOptions
from orchestrator.cli.recognition.sources import PictureFinder, names_one_picture, read_list
from orchestrator.errors import PictureError
from orchestrator.imaging.drawing import to_png

DRAWING = to_png(np.zeros((4, 5, 3), np.uint8))


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a picture")
    return folder


def find_names(*paths: Path, **options: bool) -> list[str]:
    """Return the pictures that the command finds below a folder."""
    messages: list[str] = []
    finder = PictureFinder(report=messages.append, **options)
    sources = [*finder.find(map(str, paths))]
    assert messages == []
    assert all(source.is_there for source in sources)
    return [str(source.below) for source in sources]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_list_of_a_windows_program_is_read(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "list.txt").write_bytes(f"{mark}a.jpg\r\n\u043c.jpg\r\n".encode(encoding))
    assert [*read_list(str(tmp_path / "list.txt"))] == ["a.jpg", "\u043c.jpg"]


@pytest.mark.parametrize(
    ("name", "raw", "flags"),
    [
        pytest.param("\u041c\u0430\u0448 1.jpg", "cp866", 0, id="Russian Windows"),
        pytest.param("\u041c\u0430\u0448 1.jpg", "utf-8", 0, id="macOS"),
        pytest.param("\u041c\u0430\u0448 1.jpg", "utf-8", 0x800, id="with the flag"),
        pytest.param("M\u00fcller.jpg", "cp437", 0, id="German Windows"),
        pytest.param("car.jpg", "ascii", 0, id="Latin letters"),
    ],
)
def test_names_in_archives_are_those_of_their_makers(tmp_path, name, raw, flags) -> None:
    stored_name = name.encode(raw)
    placeholder = "x" * (len(stored_name) - 4) + ".jpg"
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr(placeholder, b"a picture")
    content = bytearray((tmp_path / "photos.zip").read_bytes())
    content[6:8] = flags.to_bytes(2, "little")
    directory_start = content.find(b"PK\x01\x02")
    content[directory_start + 8 : directory_start + 10] = flags.to_bytes(2, "little")
    (tmp_path / "photos.zip").write_bytes(content.replace(placeholder.encode(), stored_name))
    (source,) = PictureFinder().find([str(tmp_path / "photos.zip")])
    assert (source.name, source.below) == (f"{tmp_path}/photos.zip/{name}", Path(name))
    assert source.read() == b"a picture"


class TestFind:
    @pytest.mark.parametrize(
        ("options", "is_list", "reason"),
        [
            pytest.param({}, False, "refused", id="typed"),
            pytest.param({}, True, "wanted a public address", id="listed"),
            pytest.param({"private_addresses": True}, True, "refused", id="allowed"),
        ],
    )
    def test_urls_of_a_list_lead_to_public_addresses_alone(
        self, options: dict[str, bool], is_list: bool, reason: str
    ) -> None:
        """No server listens at the address: the refused connection shows the attempt."""
        (source,) = PictureFinder(**options).find(["http://127.0.0.1:1/car.jpg"], is_list=is_list)
        with pytest.raises(PictureError, match=reason):
            source.read()

    def test_a_file_is_itself_whatever_its_name(self, tmp_path: Path) -> None:
        (source,) = PictureFinder().find([str(fill(tmp_path, "deep/photo") / "deep" / "photo")])
        assert (source.name, source.below) == (f"{tmp_path}/deep/photo", Path("photo"))
        assert source.read() == b"a picture"

    def test_a_folder_stands_for_its_pictures_at_any_depth(self, tmp_path: Path) -> None:
        fill(tmp_path, "b/d.JPG", "c.png", "a/b/c/e.webp", "a/z.bmp", "notes.txt", "b/jpg")
        fill(tmp_path, "d.jfif", "e.JPE")
        expected_names = ["a/b/c/e.webp", "a/z.bmp", "b/d.JPG", "c.png", "d.jfif", "e.JPE"]
        assert find_names(tmp_path) == expected_names

    @pytest.mark.parametrize("pattern", ["", "*.jpg"])
    def test_what_never_ends_is_skipped_and_counted(self, tmp_path: Path, pattern: str) -> None:
        os.mkfifo(fill(tmp_path, "a.jpg") / "live.jpg")
        finder = PictureFinder()
        (source,) = finder.find([str(tmp_path / pattern)])
        assert source.below == Path("a.jpg")
        assert [*finder.skipped_files.report()] == [
            "skipped 1 file: a named pipe, a socket or a device"
        ]

    def test_the_next_is_looked_for_when_it_is_asked_for(self, tmp_path: Path) -> None:
        fill(tmp_path, "a/1.jpg", "b/2.jpg")
        sources = PictureFinder().find([str(tmp_path)])
        assert next(sources).name.endswith("a/1.jpg")
        fill(tmp_path, "b/3.jpg")
        assert [source.below.name for source in sources] == ["2.jpg", "3.jpg"]

    def test_hidden_files_are_skipped_unless_named(self, tmp_path: Path, monkeypatch) -> None:
        fill(tmp_path, ".cache/a.jpg", "b/.c.jpg", "d.jpg")
        assert find_names(tmp_path) == ["d.jpg"]
        monkeypatch.chdir(tmp_path / ".cache")
        assert [source.name for source in PictureFinder().find(["."])] == ["a.jpg"]

    def test_links_are_followed_but_not_in_circles(self, tmp_path: Path) -> None:
        fill(tmp_path, "photos/a/1.jpg", "photos/b/2.jpg", "other/3.jpg")
        (tmp_path / "photos" / "a" / "up").symlink_to(tmp_path)
        (tmp_path / "photos" / "a" / "b").symlink_to(tmp_path / "photos" / "b")
        (tmp_path / "other" / "self").symlink_to(tmp_path / "other")
        assert find_names(tmp_path / "photos") == ["a/1.jpg", "a/up/other/3.jpg", "b/2.jpg"]

    def test_drawings_are_no_pictures_of_a_folder(self, tmp_path: Path) -> None:
        fill(tmp_path, "car.jpg", "photo.png")
        (tmp_path / "car.png").write_bytes(DRAWING)
        assert find_names(tmp_path) == ["car.jpg", "photo.png"]
        assert find_names(tmp_path / "car.png") == ["car.png"]

    def test_a_folder_that_cannot_be_read_is_an_error(self, tmp_path: Path, monkeypatch) -> None:
        fill(tmp_path, "a/1.jpg", "b/2.jpg")
        scan = os.scandir

        def scan_or_fail(path):
            if Path(path).name == "b":
                raise PermissionError(13, "Permission denied", path)
            return scan(path)

        monkeypatch.setattr("os.scandir", scan_or_fail)
        picture, folder = PictureFinder().find([str(tmp_path)])
        assert (picture.below.name, folder.name) == ("1.jpg", f"{tmp_path}/b")
        with pytest.raises(PictureError, match="cannot be read: Permission denied"):
            folder.read()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a.jpg", True), ("-", True), ("https://a.example/b", True)]
    + [(name, False) for name in ("night", "all.zip", "*.jpg", "gone.jpg")],
)
def test_one_picture_is_told_from_several(tmp_path, monkeypatch, name: str, is_one: bool) -> None:
    fill(tmp_path, "a.jpg", "all.zip", "night/b.jpg")
    monkeypatch.chdir(tmp_path)
    assert names_one_picture(name) is is_one


def test_a_list_from_a_pipe_is_not_read_twice(tmp_path: Path) -> None:
    """Its lines would be counted for the progress bar, and lost for the run."""
    (tmp_path / "list.txt").touch()
    os.mkfifo(tmp_path / "pipe")
    lists = [None, str(tmp_path / "list.txt"), str(tmp_path / "pipe"), "-"]
    inputs = [Input([], SourceOptions(from_file=name)) for name in lists]
    assert [names.is_countable for names in inputs] == [True, True, False, False]


class TestPatterns:
    def test_a_pattern_stands_for_the_pictures_among_its_files(self, tmp_path: Path) -> None:
        fill(tmp_path, "b/1.jpg", "a/1.png", "a/1.gif", "a/deep/2.jpg")
        finder = PictureFinder()
        names = [str(source.below) for source in finder.find([f"{tmp_path}/*/1.*"])]
        assert names == ["a/1.png", "b/1.jpg"]
        assert finder.skipped_files.kinds == {".gif": 1}

    def test_two_stars_find_a_picture_once(self, tmp_path: Path) -> None:
        fill(tmp_path, "a/1.jpg", "a/deep/2.jpg")
        assert find_names(tmp_path / "**") == ["a/1.jpg", "a/deep/2.jpg"]

    def test_a_file_with_such_a_name_is_itself(self, tmp_path: Path) -> None:
        fill(tmp_path, "car[1].jpg", "car1.jpg")
        assert find_names(tmp_path / "car[1].jpg") == ["car[1].jpg"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.jpg", "no such file or folder"),
        ("*.png", "no file has such a name"),
        ("broken.zip", "cannot be read as a zip archive"),
        ("car.zip", "damaged in the archive: Bad CRC-32"),
        ("bomb.zip", "wanted a picture of up to 64 MB"),
    ],
)
def test_what_cannot_be_read_is_an_error_when_it_is_read(
    tmp_path: Path, name: str, reason: str
) -> None:
    fill(tmp_path, "broken.zip")
    with zipfile.ZipFile(tmp_path / "car.zip", "w") as archive:
        archive.writestr("car.jpg", b"a picture of a car")
    content = (tmp_path / "car.zip").read_bytes()
    (tmp_path / "car.zip").write_bytes(content.replace(b"of a car", b"of a van"))
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("car.bmp", bytes(65 << 20))
    (source,) = PictureFinder().find([str(tmp_path / name)])
    with pytest.raises(PictureError, match=reason):
        source.read()


class TestArchives:
    def test_pictures_are_read_out_of_it_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        path = tmp_path / "photos.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name in ("b.jpg", "a/1.png", "notes.txt", "__MACOSX/b.jpg", "a/.1.jpg"):
                archive.writestr(name, f"content of {name}")
        finder = PictureFinder()
        first_source, second_source = finder.find([str(path)])
        assert (first_source.name, str(second_source.below)) == (f"{path}/a/1.png", "b.jpg")
        assert (first_source.read(), second_source.read()) == (
            b"content of a/1.png",
            b"content of b.jpg",
        )
        assert finder.skipped_files.kinds == {".txt": 1}

    def test_nothing_that_is_made_of_a_member_leaves_its_folder(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
            archive.writestr("../../etc/car.jpg", b"")
            archive.writestr("/srv/car.jpg", b"")
        assert find_names(tmp_path / "evil.zip") == ["etc/car.jpg", "srv/car.jpg"]
