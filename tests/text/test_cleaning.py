"""Untrusted text: what a model and a terminal never get to see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_bridge.text.cleaning import clean_label, clean_text, cut_middle, encodable, escape_hidden, truncate

any_text = st.text(st.characters(), max_size=60) | st.text(alphabet="\x1b[]31m;\x07\x9b\u200b\u202e\U000e0041aé\n\t")


@given(any_text)
def test_a_label_holds_nothing_invisible(text: str) -> None:
    """Hidden instructions in a description reach no model."""
    cleaned = clean_label(text)
    assert not {unicodedata.category(c) for c in cleaned} & {"Cc", "Cf", "Cs"}
    assert not any("\U000e0000" <= c <= "\U000e0fff" for c in cleaned)
    assert clean_label(cleaned) == cleaned


@given(any_text)
def test_a_result_cannot_drive_a_terminal_or_turn_text_around(text: str) -> None:
    """Printing a result in a terminal shows what the model read, and can be sent as UTF-8."""
    cleaned = clean_text(text)
    assert "\x1b" not in cleaned
    assert not any("\u202a" <= c <= "\u202e" for c in cleaned)
    cleaned.encode()


def test_words_of_other_scripts_and_families_of_emoji_survive_in_results() -> None:
    kept = "می‌خواهم 👨‍👩‍👧 a\u0085b\u2028c\td\r\ne"
    assert clean_text(kept) == kept


def test_a_description_keeps_its_words_and_loses_its_colours() -> None:
    assert clean_label("\x1b[31mRead\x1b[0m a\nfile\u200b \u202eevil\U000e0041") == "Read a file evil"
    assert clean_label("查询天气") == "查询天气"


def test_escape_sequences_take_their_own_text_with_them() -> None:
    assert clean_text("a\x1b]0;title\x07b\x9b31mc\x1b[1;2Hd") == "abcd"


@given(st.text(max_size=300), st.integers(1, 200))
def test_a_cut_text_is_never_longer_than_allowed(text: str, limit: int) -> None:
    """A provider's limit on descriptions and results holds whatever a server sends."""
    assert len(truncate(text, limit)) <= limit
    assert len(cut_middle(text, limit)) <= limit
    if len(text) <= limit:
        assert truncate(text, limit) == cut_middle(text, limit) == text


def test_a_long_result_keeps_head_and_tail_and_says_how_much_is_missing() -> None:
    text = "HEAD" + "汉" * 5000 + "TAIL"
    cut = cut_middle(text, 1000)
    assert cut.startswith("HEAD")
    assert cut.endswith("TAIL")
    assert "4008 or more of 5008 characters cut" in cut


def test_half_a_character_can_be_encoded() -> None:
    assert encodable("a\ud83db") == "a\ufffdb"
    assert encodable("\ud83d\ude00") == "\U0001f600"
    assert clean_text("a\udb40\udc41") == "a"  # a tag character in two halves is still hidden text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]Rrestored\nline 1\nline 2", "Rrestored\nline 1\nline 2"),  # Linux: reset the palette
        ("before \x1b]0;title\nline 2", "before 0;title\nline 2"),
        ("a\x1b_b\nc", "ab\nc"),
        ("\x1b^abc\nline 2\n\x07tail", "abc\nline 2\ntail"),
        ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"),
        ("a\x1bPq\n#0\x1b\\b", "ab"),
    ],
)
def test_a_sequence_without_an_end_does_not_swallow_what_follows(text: str, shown: str) -> None:
    """One escape in the output of a program does not cost the model the rest of it."""
    assert clean_text(text) == shown


@pytest.mark.parametrize(
    "character",
    ["\u200b", "\u202e", "\u2065", "\ufff0", "\u3164", "\u2800", "\ufe0f", "\u00a0", "\u2028", "\U000e0041", "\t"],
)
def test_what_a_person_decides_on_hides_no_character(character: str) -> None:
    assert escape_hidden(f"a{character}b") == f"a\\u{{{ord(character):04X}}}b"


def test_what_can_be_seen_is_shown_as_it_is() -> None:
    text = 'rm -rf "麦麦" é 한 हि 😀'
    assert escape_hidden(text) == text
