"""Reads pages of the gateway in tests."""

from html.parser import HTMLParser

Attributes = dict[str, str | None]
VOID = {"meta", "link", "input", "br", "img"}


class HtmlReader(HTMLParser):
    """Takes the elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, Attributes]] = []
        self.unclosed: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [attributes[name] or "" for _, attributes in self.tags if name in attributes]

    def attributes(self) -> set[str]:
        """Return the names of all attributes."""
        return {name for _, attributes in self.tags for name in attributes}
