"""Tests with the real packages that programs use; each needs an environment of its own."""
