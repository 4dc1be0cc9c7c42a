"""The error of a request; without a server's requirements, as the site uses it in the browser, too."""


class Refused(Exception):
    """A rejected request, with an HTTP status and a message for the client."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
