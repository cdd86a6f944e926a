"""Base class of clients that need no server."""


class NoServer:
    def __init__(
        self, url: str, *, key: str | None = None, timeout_s: float = 60, retries: int = 0
    ) -> None:
        self.url = url
        self.key = key
        self.timeout_s = timeout_s
        self.retries = retries

    def __enter__(self) -> "NoServer":
        return self

    def __exit__(self, *_: object) -> None:
        pass
