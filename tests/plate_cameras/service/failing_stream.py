"""A standard stream that raises an error at each write."""

import io


class FailingStream(io.StringIO):
    """Raises an error at each write."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error
