"""The command line: `stridescope COMMAND`.

    table.py        all commands, a line each
    parser.py       the parser of their arguments
    late.py         parts of parsers that are made when somebody needs them
    options.py      options that several commands have
    given.py        what arguments say: programs, options, numbers
    inputs.py       what an entry point is run on
    certificates.py, printing.py    what several commands write
    status.py       the exit statuses
    running.py      calls a command and tells its errors
    commands/       a file for each command, of its name: its options, and what it does

A command is a file of `commands/` and a line of the table. The file is imported when the command is
called, so that none of them waits for what only others need.
"""
