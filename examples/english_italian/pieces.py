"""Sentence pieces in both languages in parallel."""

from __future__ import annotations

from dataclasses import dataclass

Link = tuple[str, str]  # two words that a sentence combines (noun + adjective, verb + object, subject + verb)


@dataclass(slots=True)
class Piece:
    """A piece of a sentence in both languages, or a whole sentence without capital and full stop. `links` are the word
    pairs that it combines, some of which `corpus` reserves for testing. `piece + other` has the words and links of
    both, and is a question if the first piece is one."""

    english: str = ""
    italian: str = ""
    links: tuple[Link, ...] = ()
    question: bool = False

    def __add__(self, other: Piece) -> Piece:
        english, italian = phrase_join(self.english, other.english), phrase_join(self.italian, other.italian)
        return Piece(english, italian, self.links + other.links, self.question)

    def link(self, *links: Link) -> Piece:
        """The same piece with more links."""
        return Piece(self.english, self.italian, self.links + links, self.question)

    @property
    def end(self) -> str:
        """The mark at the end of the sentence."""
        return "?" if self.question else "."


NOTHING = Piece()
BUT, AND, WHEN, BECAUSE = Piece("but", "ma"), Piece("and", "e"), Piece("when", "quando"), Piece("because", "perché")


def phrase_join(*parts: str) -> str:
    """The non-empty parts, joined by spaces."""
    return " ".join(filter(None, parts))
