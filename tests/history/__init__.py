"""Bugs that libraries had, found again: what `make history` runs to write `examples/clients/HISTORY.md`.

`pairs` says which, `environments` installs both versions of each, `driving` searches them, `page` turns what came of it
into Markdown, and `clients` has one small client for each library, written against its old interface.
"""
