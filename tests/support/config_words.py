"""OwnerTexts that may stand in a configuration."""

from __future__ import annotations

from hypothesis import strategies as st

words = st.text(st.characters(codec="utf-8", exclude_characters="\0$~"), max_size=12)


names = words.filter(str.strip)
