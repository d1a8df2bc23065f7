"""XML from files of others: elements and attributes, no doctypes, hence no entities to blow up.

Map
---
Element     name, attributes, children, text
parse_xml   bytes → the outermost element
XmlError    what is wrong, with its line
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Element", "XmlError", "parse_xml"]

_DEEPEST: Final = 100
_LONGEST_BYTES: Final = 16 * 2**20
_MOST_PARTS: Final = 200_000
"""Elements and attributes: each takes a few hundred bytes of memory."""


class XmlError(ValueError):
    """The text is no XML, or more than a network needs."""


@dataclass
class Element:
    """An element; ``text`` is what stands directly in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: list[Element] = field(default_factory=list["Element"])
    text: str = ""

    def all(self, name: str) -> Iterator[Element]:
        """Yield the children of that name."""
        return (child for child in self.children if child.name == name)

    def get(self, attribute: str) -> str:
        """Return an attribute; empty if it isn't there."""
        return self.attributes.get(attribute, "")


def parse_xml(document: bytes) -> Element:
    """Return the outermost element of a document.

    Raises
    ------
    XmlError
        It is no XML, has a doctype, is nested more deeply than any network, or too large.
    """
    if len(document) > _LONGEST_BYTES:
        raise XmlError(f"it is longer than {_LONGEST_BYTES >> 20} MiB")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    tree = _Tree()
    parser.StartDoctypeDeclHandler = tree.refuse_doctype
    parser.StartElementHandler = tree.begin
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.text
    try:
        parser.Parse(document, True)  # noqa: FBT003 - expat's own
    except expat.ExpatError as error:
        raise XmlError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    except XmlError:
        raise
    except (LookupError, ValueError) as error:
        # Of encodings that Python doesn't know, or that take several bytes.
        raise XmlError(f"its encoding: {error}") from None
    return tree.roots[0]


class _Tree:
    """Elements as the parser tells of them; the first is whole once all are."""

    def __init__(self) -> None:
        self.roots: list[Element] = []
        self._open: list[tuple[Element, list[str]]] = []
        """With the pieces of their text, which are joined once."""
        self._parts = 0

    def refuse_doctype(self, *_: object) -> None:
        raise XmlError("it has a doctype, which no network needs")

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._parts += 1 + len(attributes)
        if self._parts > _MOST_PARTS:
            raise XmlError(f"it has more than {_MOST_PARTS:,} elements and attributes")
        element = Element(name, attributes)
        (self._open[-1][0].children if self._open else self.roots).append(element)
        self._open.append((element, []))
        if len(self._open) > _DEEPEST:
            raise XmlError(f"elements are nested more than {_DEEPEST} deep")

    def end(self, _: str) -> None:
        element, pieces = self._open.pop()
        element.text = "".join(pieces)

    def text(self, data: str) -> None:
        self._open[-1][1].append(data)
