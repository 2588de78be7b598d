"""Media are saved under new, short names: never through a link, never over a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.store.media_files import MAX_NAME_BYTES, save_media

posix = pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")


def test_a_file_of_that_name_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "1-cat.png").write_bytes(b"mine")
    saved = [save_media(tmp_path, "1-cat.png", data) for data in (b"a", b"b")]
    assert [file.name for file in saved] == ["1-cat-2.png", "1-cat-3.png"]
    assert [file.read_bytes() for file in saved] == [b"a", b"b"]
    assert (tmp_path / "1-cat.png").read_bytes() == b"mine"


@posix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_of_that_name_is_not_followed(tmp_path: Path, there: bool) -> None:
    target = tmp_path / "target"
    if there:
        target.write_bytes(b"mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1-cat.png").symlink_to(target)
    assert save_media(tmp_path / "out", "1-cat.png", b"a").name == "1-cat-2.png"
    assert target.exists() is there
    assert not there or target.read_bytes() == b"mine"


@posix
def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    assert stat.S_IMODE(save_media(tmp_path, "x.bin", b"a").stat().st_mode) == 0o600


@given(st.text(st.characters(categories=["L", "N", "So"]), min_size=1, max_size=400), st.sampled_from(["", ".png"]))
def test_a_name_of_any_length_is_cut_to_what_a_file_system_takes(stem: str, ending: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = save_media(Path(folder), stem + ending, b"a")
        assert len(file.name.encode()) <= MAX_NAME_BYTES
        assert file.name.endswith(ending)
        assert file.read_bytes() == b"a"
