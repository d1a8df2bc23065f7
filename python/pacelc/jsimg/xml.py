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
_LONGEST_BYTES: Final = 64 * 2**20


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
        It is no XML, has a doctype, is nested more deeply than any network, or is too long.
    """
    if len(document) > _LONGEST_BYTES:
        raise XmlError(f"it is longer than {_LONGEST_BYTES} bytes")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    roots: list[Element] = []
    open_elements: list[Element] = []

    def refuse_doctype(*_: object) -> None:
        raise XmlError("it has a doctype, which no network needs")

    def begin(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)
        if len(open_elements) > _DEEPEST:
            raise XmlError(f"elements are nested more than {_DEEPEST} deep")

    def end(_: str) -> None:
        open_elements.pop()

    def text(data: str) -> None:
        open_elements[-1].text += data

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    try:
        parser.Parse(document, True)  # noqa: FBT003 - expat's own
    except expat.ExpatError as error:
        raise XmlError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    except XmlError:
        raise
    except (LookupError, ValueError) as error:
        # Of encodings that Python doesn't know, or that take several bytes.
        raise XmlError(f"its encoding: {error}") from None
    return roots[0]
