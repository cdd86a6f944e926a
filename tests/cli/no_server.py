"""What clients without a server have in common."""


class NoServer:
    def __init__(self, url: str, *, key: str | None = None) -> None:
        self.url = url
        self.key = key

    def __enter__(self) -> "NoServer":
        return self

    def __exit__(self, *_: object) -> None:
        pass
