"""Exit statuses, and the exception for usage errors."""

OK = 0
FINDINGS = 1  # a problem in the robot or its file
MISUSE = 2  # usage error
INTERNAL = 3  # a bug in kinetree
INTERRUPTED = 130  # as a shell reports Ctrl-C
BROKEN_PIPE = 141  # as a shell reports a closed pipe


class Misuse(Exception):  # noqa: N818
    """The command line is wrong; the message says what to type instead."""
