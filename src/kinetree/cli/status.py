"""Exit statuses, and the exception that means the command itself was wrong."""

OK = 0
FINDINGS = 1  # the robot or its file is at fault
MISUSE = 2  # the command is at fault
INTERNAL = 3  # kinetree is at fault
INTERRUPTED = 130  # as a shell reports Ctrl-C
BROKEN_PIPE = 141  # as a shell reports a reader that went away


class Misuse(Exception):  # noqa: N818
    """What was typed cannot be done; the message says what to type instead."""
