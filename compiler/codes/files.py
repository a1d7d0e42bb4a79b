"""Imported files and packages."""

from compiler.base.code import Code

MISSING = Code(
    "F001",
    "An import of a file that does not exist",
    "Write an import as a path relative to the importing file's folder, without `.fut`.",
    wrong='import "sum"\ndef f (xs: []i32): i32 = total xs',
    mended='import "sums"\ndef f (xs: []i32): i32 = total xs',
    files=(("sums.fut", "def total (xs: []i32): i32 = i32.sum xs"),),
)
CYCLE = Code(
    "F002",
    "Files that import each other",
    "The compiler checks a file after the files that it imports, so files cannot "
    "import each other. Move the shared definitions to a third file.",
    wrong='import "a"',
    mended='import "c"',
    files=(("a.fut", 'import "b"'), ("b.fut", 'import "a"'), ("c.fut", "def both: i32 = 1")),
)
PACKAGE = Code(
    "F003",
    "An import from a missing package",
    "The files of packages lie below `lib`. Run `futhark pkg sync` to fetch the "
    "packages that `futhark.pkg` requires.",
    wrong='import "lib/github.com/diku-dk/sorts/radix_sort"\n'
    "def f (xs: []i32): []i32 = radix_sort_int i32.num_bits i32.get_bit xs",
    mended="def f (xs: []i32): []i32 = xs",
)
PATH = Code(
    "F004",
    "An import that is not a valid path",
    "Write an import as a path relative to its file, with `/` between folders, without "
    "`.fut`, and without a leading `/`.",
    wrong='import "/home/me/sums"',
    mended='import "sums"',
    files=(("sums.fut", "def total (xs: []i32): i32 = i32.sum xs"),),
)
TOO_MANY = Code(
    "F005",
    "A program with too many files",
    "A program may have at most 1000 files, including imported ones.",
)
