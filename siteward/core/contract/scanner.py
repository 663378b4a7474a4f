"""PyYAML's events with the plain scalars of YAML 1.2: inside a flow collection `?` is a character like any other.

`{ message: Let it in? }` is what authors write and what a browser reads; YAML 1.1 ends the text at the question mark.
(YAML 1.2.2, rule 127 `ns-plain-safe(flow-in)`: only `,`, `[`, `]`, `{` and `}` are excluded.)
"""

from __future__ import annotations

from typing import Any, Final

import yaml

_BREAK_OR_END: Final = "\0 \t\r\n\x85\u2028\u2029"
_FLOW_END: Final = ",[]{}"
_NEVER_FIRST: Final = ",[]{}#&*!|>'\"%@`"


class EventLoader(yaml.SafeLoader):
    """Gives the events of one text."""

    _settled_at = -1
    """How many tokens had been taken when the next one was last certain."""

    def next_event(self) -> yaml.Event:
        """The next event. Raises `yaml.YAMLError`, and ValueError or OverflowError for an impossible escape or directive."""
        event: yaml.Event = self.get_event()  # type: ignore[no-untyped-call]
        return event

    def position(self) -> int:
        """The offset that the scanner has come to."""
        index: int = self.index
        return index

    def check_token(self, *choices: Any) -> bool:
        """Whether the next token is one of these. Asked several times for each token, so what was looked for once is not looked for again."""
        self._settle()
        return bool(self.tokens) and (not choices or isinstance(self.tokens[0], choices))

    def peek_token(self) -> yaml.Token | None:
        """The next token; it stays."""
        self._settle()
        return self.tokens[0] if self.tokens else None

    def get_token(self) -> yaml.Token | None:
        """The next token; it is taken."""
        self._settle()
        if not self.tokens:
            return None
        self.tokens_taken += 1
        token: yaml.Token = self.tokens.pop(0)
        return token

    def _settle(self) -> None:
        """Scans until it is certain what the next token is (a scalar may turn out to be a key)."""
        if self._settled_at == self.tokens_taken:
            return
        while self.need_more_tokens():
            self.fetch_more_tokens()
        self._settled_at = self.tokens_taken

    def check_key(self) -> bool:
        """Whether a `?` here begins a complex key: only before a blank or the end of a collection."""
        return self.peek(1) in _BREAK_OR_END + (_FLOW_END if self.flow_level else "")

    def check_plain(self) -> bool:
        """Whether a plain scalar begins here. (Keys and values have been looked for before.)"""
        if self.peek() in "-?:":
            return self.peek(1) not in _BREAK_OR_END + (_FLOW_END if self.flow_level else "")
        return self.peek() not in _BREAK_OR_END + _NEVER_FIRST

    def scan_plain(self) -> yaml.ScalarToken:
        """One plain scalar, over several lines where it is folded."""
        start = end = self.get_mark()
        indent = self.indent + 1
        chunks: list[str] = []
        spaces: list[str] = []
        while self.peek() != "#":
            length = self._plain_length()
            if length == 0:
                break
            self.allow_simple_key = False
            chunks.extend(spaces)
            chunks.append(self.prefix(length))
            self.forward(length)
            end = self.get_mark()
            spaces = self.scan_plain_spaces(indent, start) or []
            if not spaces or (not self.flow_level and self.column < indent):
                break
        return yaml.ScalarToken("".join(chunks), True, start, end)

    def _plain_length(self) -> int:
        """How many characters from here belong to the scalar before a blank, a break or an indicator."""
        ends = _FLOW_END if self.flow_level else ""
        length = 0
        while True:
            character = self.peek(length)
            if character in _BREAK_OR_END or (ends and character in ends):
                return length
            if character == ":" and self.peek(length + 1) in _BREAK_OR_END + ends:
                return length
            length += 1
