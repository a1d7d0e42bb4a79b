"""Imported files and packages."""

from compiler.base.code import Code

MISSING = Code(
    "F001",
    "An import of a file that is not there",
    "An import is a path from the folder of the file that it stands in, without `.fut`.",
    wrong='import "sum"\ndef f (xs: []i32): i32 = total xs',
    mended='import "sums"\ndef f (xs: []i32): i32 = total xs',
    files=(("sums.fut", "def total (xs: []i32): i32 = i32.sum xs"),),
)
CYCLE = Code(
    "F002",
    "Files that import each other",
    "A file is checked after those that it imports: none can come before itself. Move what both "
    "need to a third one.",
    wrong='import "a"',
    mended='import "c"',
    files=(("a.fut", 'import "b"'), ("b.fut", 'import "a"'), ("c.fut", "def both: i32 = 1")),
)
PACKAGE = Code(
    "F003",
    "An import from a package that is not there",
    "The files of packages lie below `lib`, where `futhark pkg sync` puts what `futhark.pkg` "
    "requires.",
    wrong='import "lib/github.com/diku-dk/sorts/radix_sort"\n'
    "def f (xs: []i32): []i32 = radix_sort_int i32.num_bits i32.get_bit xs",
    mended="def f (xs: []i32): []i32 = xs",
)
PATH = Code(
    "F004",
    "An import of something that is no path",
    "An import is a path relative to its file, with `/` between folders and without `.fut`; it "
    "does not begin with `/`.",
    wrong='import "/home/me/sums"',
    mended='import "sums"',
    files=(("sums.fut", "def total (xs: []i32): i32 = i32.sum xs"),),
)
TOO_MANY = Code(
    "F005",
    "A program of too many files",
    "A program has at most 1000 files, imported ones counted.",
)
