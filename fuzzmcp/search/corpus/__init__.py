"""Saved cases: findings that stay as files, are replayed, and become tests."""

from fuzzmcp.search.corpus.folder import case_files, prune, rewrite, save
from fuzzmcp.search.corpus.reading import CaseFileError, SavedCase, parse, read
from fuzzmcp.search.corpus.replaying import ERROR, FAILS, FAILS_DIFFERENTLY, FIXED, Replayed, replayed
from fuzzmcp.search.corpus.writing import text_of

__all__ = [
    "ERROR",
    "FAILS",
    "FAILS_DIFFERENTLY",
    "FIXED",
    "CaseFileError",
    "Replayed",
    "SavedCase",
    "case_files",
    "parse",
    "prune",
    "read",
    "replayed",
    "rewrite",
    "save",
    "text_of",
]
