"""Limitations: correct programs that need a feature that is not implemented yet."""

from compiler.base.code import Code


def _product(count: int) -> str:
    """Write a reduction of `count` numbers at once."""
    names = [[f"{letter}{i}" for i in range(count)] for letter in "ab"]
    left, right = (", ".join(row) for row in names)
    both = ", ".join(f"{a} * {b}" for a, b in zip(*names, strict=True))
    return (
        f"entry main (xs: []f64) =\n  reduce (\\({left})\n         ({right}) ->\n"
        f"    ({both}))\n"
        f"    ({', '.join(['1'] * count)})\n"
        f"    (map (\\x -> ({', '.join(['x'] * count)})) xs)"
    )


NOT_BUILT = Code(
    "L001",
    "A language feature that is not implemented yet",
    "Stridescope does not implement this part of Futhark yet: derivatives with respect "
    "to arrays whose size depends on a value, such as arrays in a variant of a sum "
    "type.",
    wrong="type~ opt = #none | #some ([]f32)\n"
    "entry f (n: i64): f32 =\n"
    "  let g (o: opt) = match o case #none -> 0 case #some xs -> f32.sum xs\n"
    "  in jvp g (#some (replicate n 1)) (#some (replicate n 2))",
    mended="entry f (n: i64): f32 = jvp f32.sum (replicate n 1) (replicate n 2)",
)
SIZE = Code(
    "L004",
    "A size that is too complicated",
    "The compiler compares sizes by their text. Bind a size with functions or loops in "
    "it to a name with `let`, and use the name as the size.",
    wrong="entry f (n: i64): [loop x = n for _i < 3i32 do x * 2]i32 =\n  replicate (n * 8) 0",
    mended="entry f (n: i64): []i32 =\n  let m = loop x = n for _i < 3i32 do x * 2\n"
    "  in replicate m 0",
)
FUNCTION = Code(
    "L006",
    "A function that is chosen at run time",
    "The compiler must know at compile time which function is called. You can pass "
    "functions, bind them and put them into tuples, but a function cannot be the "
    "result of an `if` or a loop parameter.",
)
ROWS = Code(
    "L007",
    "An array whose rows may differ in size",
    "All rows of an array have the same size, and it must be known before the rows are "
    "computed. If it is not, give each row a size: `row :> [n]t`.",
)
UNKNOWN_SIZE = Code(
    "L008",
    "A size that has no name",
    "The compiler needs a size for which the program has no name. Name it where the "
    "value is bound: `let [k] (xs: [k]t) = ..`.",
)
KERNEL_SIZE = Code(
    "L009",
    "A kernel array whose size depends on an earlier iteration",
    "A kernel's memory is allocated before the kernel starts, and a kernel before it "
    "computes the largest size that any thread needs. That is impossible if the size "
    "of an array in one iteration of a loop depends on the contents of an array of the "
    "previous iteration.",
    wrong="entry f (ks: []i64) =\n"
    "  map (\\k -> loop s = k while s > 10 do s - (scan (+) 0 (iota s))[s / 2]) ks",
    mended="entry f (ks: []i64) =\n"
    "  map (\\k -> loop s = k while s > 10 do s - (loop t = 0 for i < s / 2 + 1 do t + i)) ks",
)
KERNEL_LOOP = Code(
    "L010",
    "A kernel array that grows in a loop",
    "A kernel's memory is allocated before the kernel starts. Create the array with "
    "its largest possible size, and count the elements in use.",
)
ARRAY_OPERATOR = Code(
    "L011",
    "An operator on whole arrays",
    "The compiler turns a reduction, scan or histogram whose operator takes arrays "
    "into one on their elements. It cannot do that for this operator.",
)
GPU_MEMORY = Code(
    "L012",
    "A kernel that needs more shared or private memory than there is",
    "A block has little shared memory, and a private array of a thread must have a "
    "small constant size. The C backend has no such limits.",
    wrong=_product(200),
    mended=_product(3),
)
CALL = Code(
    "L013",
    "A call in a kernel that cannot be inlined",
    "All functions that a kernel calls are inlined into it, and this one cannot be.",
)
INTRINSIC = Code(
    "L014",
    "An intrinsic that programs cannot use",
    "Programs can use only some intrinsics by name; the message lists them.",
    wrong="entry f (xs: []i32) = intrinsics.opaque xs",
    mended="entry f (xs: []i32) = opaque xs",
)
DEPTH = Code(
    "L015",
    "A program that nests too deeply",
    "The expressions nest many thousands of levels deep. Bind inner expressions with `let`.",
)
RESOURCES = Code(
    "L016",
    "A program that needs too much time or memory to compile",
    "The C compiler did not finish in time, or there was no room for its output. To "
    "run the program without a C compiler, use the reference interpreter.",
)
MUTUAL = Code(
    "L017",
    "Two functions that call each other",
    "A recursive function may call another recursive function, but it cannot pass it a "
    "function that calls the first one again. Write one of the two as a loop.",
    wrong="def times (n: i64) (f: i64 -> i64) (x: i64): i64 =\n"
    "  if n == 0 then x else times (n - 1) f (f x)\n"
    "def g (n: i64): i64 = if n == 0 then 1 else times n (\\x -> x + g (n - 1)) 0\n"
    "entry main (n: i64) = g n",
    mended="def times (n: i64) (f: i64 -> i64) (x: i64): i64 = loop y = x for _i < n do f y\n"
    "def g (n: i64): i64 = if n == 0 then 1 else times n (\\x -> x + g (n - 1)) 0\n"
    "entry main (n: i64) = g n",
)
DERIVATIVE = Code(
    "L018",
    "A function that cannot be differentiated",
    "The result depends on an operation whose derivative is not implemented. The hint "
    "says how to avoid it.",
    wrong="entry f (x: f64): f64 = vjp f64.gamma x 1",
    mended="entry f (x: f64): f64 = vjp (\\y -> f64.sqrt y) x 1",
)
