"""Pieces of sentences, in both languages side by side."""

from __future__ import annotations

from dataclasses import dataclass

Link = tuple[str, str]  # two words that a sentence puts together (noun + adjective, verb + object, subject + verb)


@dataclass(slots=True)
class Piece:
    """A piece of a sentence in both languages, or a whole one without capital and full stop. `links` are the pairs of
    words that it puts together; `corpus` keeps some pairs for testing. `piece + other` has the words and links of both;
    it is a question if the first one is."""

    english: str = ""
    italian: str = ""
    links: tuple[Link, ...] = ()
    question: bool = False

    def __add__(self, other: Piece) -> Piece:
        english, italian = phrase_join(self.english, other.english), phrase_join(self.italian, other.italian)
        return Piece(english, italian, self.links + other.links, self.question)

    def link(self, *links: Link) -> Piece:
        """The same piece, which puts more words together."""
        return Piece(self.english, self.italian, self.links + links, self.question)

    @property
    def end(self) -> str:
        """The mark at the end of the sentence."""
        return "?" if self.question else "."


NOTHING = Piece()
BUT, AND, WHEN, BECAUSE = Piece("but", "ma"), Piece("and", "e"), Piece("when", "quando"), Piece("because", "perché")


def phrase_join(*parts: str) -> str:
    """The parts that are not empty, with spaces between."""
    return " ".join(filter(None, parts))
