"""Each server checked step by step, with cause and fix in English and Chinese."""

from .diagnose import diagnose as diagnose
from .diagnose import file_objection as file_objection
from .diagnose import longest_wait as longest_wait
