"""The command line: `stridescope COMMAND`.

    table.py        all commands, a line each
    parser.py       the parser of their arguments
    late.py         parts of parsers that are made on demand
    options.py      options that several commands have
    given.py        arguments as values: programs, options, numbers
    inputs.py       inputs of an entry point
    certificates.py, printing.py    what several commands write
    status.py       the exit statuses
    running.py      calls a command and reports its errors
    commands/       a file for each command: its options, and its `run`

A command is a file of `commands/` and a line of the table. The file is imported when the command is
called, so that no command waits for imports that only others need.
"""
