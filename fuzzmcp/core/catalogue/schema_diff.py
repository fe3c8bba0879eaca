"""How one JSON schema differs from another, in the words of drift.

What a backend could send, or would have to, is an edit of the old schema's sample value; what no edit can show is a
plain sentence. Schemas are walked together with the samples of both, so that an edit is known to do something and to
end in a value that the new schema accepts at that place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fuzzmcp.core.catalogue.samples import sample
from fuzzmcp.core.catalogue.schema_view import REFS, UNIONS, Document, Sameness, View, covers, renames, text_of, type_of
from fuzzmcp.core.catalogue.schema_words import (
    MISSING,
    come_or_gone,
    either,
    listed,
    literal_of,
    shown,
    spelled,
    spelled_path,
)
from fuzzmcp.core.drift import Edit, retyped

Json = Any
_PLACES_MAX = 3_000
"""Places after which the comparison of two schemas stops: references can multiply without end."""
_TOLD_APART = ("format", *UNIONS)
_SENT = {"name": "a client that sends the old name breaks", "value": "a client that sends the old values may break"}


@dataclass(frozen=True)
class Change:
    """One difference between two schemas.

    Args:
        path: Where, in a value of the old schema.
        words: The difference in the words of drift, or a sentence where drift has none.
        note: What the words alone do not tell, or the empty string.
        edit: The edit of the old sample that plays it; None where nothing can.
        may: The new schema allows this without demanding it: the value without the edit is still valid.
    """

    path: tuple[str, ...]
    words: str
    note: str = ""
    edit: Edit | None = None
    may: bool = False


def differences(old: Json, new: Json, *, sent: bool = False) -> tuple[Change, ...]:
    """What is different in `new`, ordered by path; nothing where both say the same in other words.

    Args:
        old: A schema with `"type": "object"` and local references.
        new: Another.
        sent: These are values that a client sends: nothing can be played, and the notes say what breaks.

    >>> before = {"type": "object", "properties": {"order_id": {"type": "string"}, "total": {"type": "number"}}}
    >>> after = {"type": "object", "properties": {"orderId": {"type": "string"}, "total": {"type": "string"}}}
    >>> [change.words for change in differences(before, after)]
    ['order_id>orderId', 'total:string']
    """
    try:
        walk = _Walk(Document(old), Document(new), sent)
        value = MISSING if sent else _sampled(old)
        walk.compare(old, new, value, _sampled(new), (), ())
        found = sorted(dict.fromkeys(walk.found), key=lambda change: change.path)
        if not found and not walk.same(old, new):
            found = [Change((), "the schema says it in another order")]
        return tuple(found)
    except RecursionError:
        return (Change((), "nested too deeply to be compared"),)


def _sampled(schema: Json) -> Json:
    try:
        return sample(schema)
    except Exception:  # whoever has no sample has no values to compare: what is told does not depend on it
        return MISSING


@dataclass(frozen=True, eq=False)
class _Place:
    """Two schemas of one place and their views, the old value there, and the new schema's sample value.

    `path` leads there in the old value, `at` in the value whose parents have been edited already.
    """

    old: Json
    new: Json
    a: View
    b: View
    value: Json
    sample: Json
    path: tuple[str, ...]
    at: tuple[str, ...]

    @property
    def present(self) -> bool:
        return self.value is not MISSING


class _Walk:
    """Walks both schemas at once; `found` are the changes in the order in which they were met."""

    def __init__(self, old: Document, new: Document, sent: bool) -> None:
        self.old, self.new, self.sent = old, new, sent
        self.same = Sameness(old, new)
        self.found: list[Change] = []
        self.met: set[tuple[str, str]] = set()
        self.places = 0

    # -- telling -------------------------------------------------------------------------------------------------------

    def plain(self, p: _Place, sentence: str, note: str = "") -> None:
        """Tell what no edit can show."""
        where = spelled_path(p.at)
        self.found.append(Change(p.path, f"{where}: {sentence}" if where else sentence, note))

    def edit(self, p: _Place, edit: Edit, plays: bool, note: str = "", *, may: bool = False) -> None:
        """Tell an edit; `plays` says whether it does anything to the old value that the new schema accepts."""
        words, writable = spelled(edit)
        keeps = plays and writable and not self.sent
        if not keeps and not self.sent and not note:
            note = "no value at hand to play it"
        self.found.append(Change(p.path, words, note, edit if keeps else None, may))

    def fits(self, p: _Place, value: Json) -> bool:
        """Whether the value is another than the old one, and valid for the new schema at this place."""
        there = p.present and value is not MISSING
        return there and text_of(value) != text_of(p.value) and self.new.accepts(p.new, value)

    # -- the walk ------------------------------------------------------------------------------------------------------

    def compare(
        self, old: Json, new: Json, value: Json, fresh: Json, path: tuple[str, ...], at: tuple[str, ...]
    ) -> None:
        """Tell every difference between two schemas of one place and of the places inside.

        Args:
            old: The old schema there.
            new: The new one.
            value: The value of the old sample there, or `MISSING`.
            fresh: That of the new sample.
            path: The way there in the old value.
            at: The same in the value whose parents have been edited already.
        """
        if self.same(old, new):
            return
        p = _Place(old, new, self.old.view(old), self.new.view(new), value, fresh, path, at)
        if not self._enters(p):
            return
        if self._wrapped(p):
            return
        apart = self._types(p)
        self._null(p)
        if apart:
            return  # whatever else is different belongs to another type
        self._members(p)
        self._format(p)
        if p.a.allows("object") and p.b.allows("object"):
            self._properties(p)
        if p.a.allows("array") and p.b.allows("array"):
            self._items(p)
        self._unions(p)
        self._keywords(p)

    def _enters(self, p: _Place) -> bool:
        self.places += 1
        if self.places > _PLACES_MAX:
            if self.places == _PLACES_MAX + 1:
                self.plain(p, "too large to be compared from here on")
            return False
        if p.present:
            return True  # a value ends, also one of a recursive schema
        pair = (text_of(p.old), text_of(p.new))
        again = pair in self.met
        self.met.add(pair)
        return not again

    def _wrapped(self, p: _Place) -> bool:
        """The old value now lies inside of an object, beside whatever else the object has."""
        if p.a.types is None or p.b.types != ("object",) or (p.a.null and not p.b.null):
            return False
        if "object" in p.a.types and not p.a.properties:
            return False  # an object of no properties got one
        names = [name for name in sorted(p.b.properties) if self.same(p.old, p.b.properties[name], bare=True)]
        if len(names) != 1 or names[0] in p.a.properties or p.a.properties.keys() & p.b.properties.keys():
            return False
        (name,) = names
        inside = {name: p.value} if p.present else MISSING
        self.edit(p, Edit("wrap", (*p.at, name)), p.present, _SENT["value"] if self.sent else "")
        for other in sorted(p.b.properties):
            if other != name:
                self._added(replace(p, value=inside), other)
        if p.b.null and not p.a.null:
            self._null(p)
        return True

    def _types(self, p: _Place) -> bool:
        """Tell the types; whether the two have none in common."""
        a, b = p.a.types, p.b.types
        both_unions = any(key in p.a.words for key in UNIONS) and any(key in p.b.words for key in UNIONS)
        if (set(a or ()) == set(b or ()) and (a is None) == (b is None)) or both_unions:
            return False
        if b == ():
            self.edit(p, Edit("replace", p.at, "null"), self.fits(p, None), "nothing but null now")
            return True
        gained = [kind for kind in b or () if a is not None and not covers(a, kind)]
        lost = [kind for kind in a or () if b is not None and not covers(b, kind)]
        if b is None:
            gained = ["number" if "string" in (a or ()) else "string"]
        apart = a is not None and b is not None and not _share(a, b) and not (p.a.null and p.b.null and not (a and b))
        misfit = p.present and p.value is not None and b is not None and not covers(b, type_of(p.value))
        breaks = _SENT["value"] if self.sent and (apart or lost or a is None) else ""
        targets = gained or (list(b or ()) if misfit else [])
        if targets:
            note = breaks or ("" if apart or misfit else "as well as before")
            self._retyped(p, targets, note, may=not apart and not misfit)
        if a is None:
            self.plain(p, f"only {either(b or ())} now", breaks)
        elif lost and not apart and (gained or not misfit):
            self.plain(p, f"no longer {either(lost)}", breaks)
        return apart

    def _retyped(self, p: _Place, targets: Sequence[str], note: str, *, may: bool) -> None:
        for kind in targets if p.present else ():
            if self.fits(p, retyped(p.value, kind)):
                return self.edit(p, Edit("retype", p.at, kind), True, note, may=may)
        fresh = p.sample
        literal = literal_of(fresh)
        if p.present and literal and covers(targets, type_of(fresh)) and self.fits(p, fresh):
            return self.edit(p, Edit("replace", p.at, literal), True, f"{either(targets)} {note}".strip(), may=may)
        return self.edit(p, Edit("retype", p.at, targets[0]), False, note, may=may)

    def _null(self, p: _Place) -> None:
        if p.a.types is None or not p.b.types or p.a.null == p.b.null:
            return
        if p.b.null:
            edit = Edit("replace", p.at, "null")
            self.edit(p, edit, self.fits(p, None), "null is allowed now", may=True)
            return
        literal = literal_of(p.sample)
        if p.value is None and literal and self.fits(p, p.sample):
            self.edit(p, Edit("replace", p.at, literal), True, "no longer null")
        else:
            self.plain(p, "no longer null", _SENT["value"] if self.sent else "")

    def _members(self, p: _Place) -> None:
        a, b = p.a.enum, p.b.enum
        old, new = set(map(text_of, a or ())), set(map(text_of, b or ()))
        if (a is None) == (b is None) and old == new:
            return
        breaks = _SENT["value"] if self.sent else ""
        if a is None:
            self.plain(p, f"only one of {listed(b or ())} now", breaks)
            return
        lost = [member for member in a if b is not None and text_of(member) not in new]
        gained = [member for member in b or (p.sample,) if member is not MISSING and text_of(member) not in old]
        fresh = next((member for member in gained if self.fits(p, member) and literal_of(member)), MISSING)
        note = "any other value now" if b is None else "a new value"
        if p.present and fresh is not MISSING:
            may = text_of(p.value) not in set(map(text_of, lost))
            self.edit(p, Edit("replace", p.at, literal_of(fresh)), True, note, may=may)
        elif b is None:
            self.plain(p, "no longer one of a fixed list")
        elif gained:
            self.plain(p, f"also one of {listed(gained)}")
        if lost:
            self.plain(p, f"no longer one of {listed(lost)}", breaks)

    def _format(self, p: _Place) -> None:
        old, new = p.a.words.get("format", MISSING), p.b.words.get("format", MISSING)
        if old == new:
            return
        name = p.at[-1] if p.at else "value"
        plain = {"type": "string"} if new is MISSING else {"type": "string", "format": new}
        tries = (p.sample, _sampled(plain), f"{name}-1")
        fresh = next((text for text in tries if isinstance(text, str) and self.fits(p, text)), None)
        both = old is not MISSING and new is not MISSING
        note = f"format {shown(old)} is now {shown(new)}" if both else come_or_gone("format", old, new)
        if fresh is not None and isinstance(p.value, str) and literal_of(fresh):
            self.edit(p, Edit("reformat", p.at, literal_of(fresh)), True, note, may=new is MISSING)
        else:
            self.plain(p, note, _SENT["value"] if self.sent and new is not MISSING else "")

    # -- objects -------------------------------------------------------------------------------------------------------

    def _properties(self, p: _Place) -> None:
        renamed = renames(p.a, p.b, self.same)
        for name in sorted(p.a.properties):
            target = name if name in p.b.properties else renamed.get(name)
            here = replace(p, path=(*p.path, name), at=(*p.at, name))
            holds = isinstance(p.value, dict) and name in p.value
            if target is None:
                gone = "" if not self.sent else _SENT["name"] if p.b.closed else "no longer read"
                self.edit(here, Edit("drop", here.at), holds, gone)
                continue
            if target != name:
                free = holds and target not in p.value
                self.edit(here, Edit("rename", here.at, target), free, _SENT["name"] if self.sent else "")
            inner = replace(here, at=(*p.at, target))
            self._required(inner, holds, name in p.a.required, target in p.b.required)
            value, fresh = _member(p.value, name), _member(p.sample, target)
            self.compare(p.a.properties[name], p.b.properties[target], value, fresh, here.path, inner.at)
        for name in sorted(p.b.properties):
            if name not in p.a.properties and name not in renamed.values():
                self._added(p, name)

    def _required(self, p: _Place, holds: bool, before: bool, after: bool) -> None:
        if before and not after:
            if self.sent:
                self.plain(p, "no longer required")
            else:
                self.edit(p, Edit("drop", p.at), holds, "no longer required", may=True)
        elif after and not before:
            self.plain(p, "required now", "a client that does not send it breaks" if self.sent else "")

    def _added(self, p: _Place, name: str) -> None:
        fresh, required = _member(p.sample, name), name in p.b.required
        here = replace(p, path=(*p.path, name), at=(*p.at, name))
        literal = literal_of(fresh)
        note = "required now: a client that does not send it breaks" if self.sent and required else ""
        if not literal:
            self.plain(here, "required now" if required else "new", note)
            return
        taken = isinstance(p.value, dict) and name in p.value
        plays = isinstance(p.value, dict) and self.new.accepts(p.b.properties[name], fresh)
        plays = plays and not (taken and text_of(p.value[name]) == text_of(fresh))
        if not required and (plays or self.sent):
            note = "not required"
        self.edit(here, Edit("replace" if taken else "add", here.at, literal), plays, note, may=not required)

    # -- arrays, unions, and the rest ----------------------------------------------------------------------------------

    def _items(self, p: _Place) -> None:
        values = p.value if isinstance(p.value, list) else []
        count = max(len(values), len(p.a.prefix) + 1, len(p.b.prefix) + 1)
        for i in range(count):
            fresh = p.sample[min(i, len(p.sample) - 1)] if isinstance(p.sample, list) and p.sample else MISSING
            step = str(i)
            value = values[i] if i < len(values) else MISSING
            self.compare(p.a.item(i), p.b.item(i), value, fresh, (*p.path, step), (*p.at, step))

    def _unions(self, p: _Place) -> None:
        for key in UNIONS:
            old, new = p.a.words.get(key, MISSING), p.b.words.get(key, MISSING)
            if old is MISSING or new is MISSING:
                if old is not new:
                    self.plain(p, come_or_gone(key, old, new))
                continue
            lost, gained = self._unmatched(old, new)
            if len(lost) != len(gained):
                self.plain(p, f"{key}: {len(old)} alternatives are now {len(new)}")
                continue
            for place, option in zip(lost, gained, strict=True):
                value = p.value if place == 0 else MISSING  # the sample is of the first alternative
                self.compare(old[place], new[option], value, p.sample, p.path, p.at)

    def _unmatched(self, old: Sequence[Json], new: Sequence[Json]) -> tuple[list[int], list[int]]:
        """The alternatives of either union that the other does not have, by their places."""
        lost, gained = [], list(range(len(new)))
        for place, option in enumerate(old):
            twin = next((each for each in gained if self.same(option, new[each])), None)
            if twin is None:
                lost.append(place)
            else:
                gained.remove(twin)
        return lost, gained

    def _keywords(self, p: _Place) -> None:
        for key in sorted({*p.a.words, *p.b.words}):
            if key in _TOLD_APART or self.same.keyword(key, p.a.words, p.b.words):
                continue
            old, new = p.a.words.get(key, MISSING), p.b.words.get(key, MISSING)
            if old is MISSING or new is MISSING:
                self.plain(p, come_or_gone(key, old, new))
            elif key == "description":
                self.plain(p, f"another description: {shown(new)}")
            elif key in REFS:
                self.plain(p, f"{key} {shown(new)} names something else now")
            else:
                self.plain(p, f"{key} {shown(old)} is now {shown(new)}")


def _member(value: Json, name: str) -> Json:
    return value[name] if isinstance(value, Mapping) and name in value else MISSING


def _share(a: Sequence[str], b: Sequence[str]) -> bool:
    return any(covers(b, kind) for kind in a) or any(covers(a, kind) for kind in b)
