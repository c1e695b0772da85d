"""Design notes 0001, 0010 and 0012 once more, without a line of the project's own code and without any library but Python's own."""


class Refused(Exception):
    """What is wrong, in the note's word for it."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def need(holds, kind="malformed"):
    if not holds:
        raise Refused(kind)
