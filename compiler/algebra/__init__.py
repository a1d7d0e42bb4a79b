"""Polynomials over sizes, LMADs, and questions about them; knows nothing of programs.

    poly.py             polynomials over names, with integer coefficients
    lmad.py             linear memory access descriptors: from an index to a cell
    facts.py            what is assumed, and points that meet the assumptions
    inequality.py       proves `p >= 0`: a sum of products of facts
    constant.py         decides LMADs of numbers exactly
    problem.py          two LMADs as one equation (difference form), and its lossless rewritings
    disjoint.py         proves that the equation has no solution, finds one, or says what is missing
    tighten.py          what a fact says once what stands before its names is divided out
    quotients.py        what is known of quotients, with the lines that show it
    decide.py           reads a problem as it is written, and answers it
    divide.py           polynomials divided by polynomials
    canonical_names.py  questions that differ in their names only, and their answers
    certificate.py      what a proof looks like
    encode.py           a claim and its proof as plain data
    checker.py          accepts that or not; imports nothing of the compiler
    argument.py         why an integer expression of a program has a sign, step by step
    gate.py             asks the checker about such steps, before anything rests on them
    export.py           what a proof comes down to, and what is claimed, for other provers
    formulas.py         what is given, as formulas about integers
    smtlib.py           questions of SMT-LIB about the steps of a proof
    lean.py             theorems of Lean about them
    bitvectors.py       questions for counterexamples to a claim
    notation.py         problems as JSON: text is read
    as_data.py          polynomials and LMADs as the data of answers
    layouts.py          one LMAD after another as an LMAD, and complements
    index_functions.py  chains of steps, compositions of LMADs, single ones: three generations
    show.py             verdicts and proofs as such data, and as text
    cells.py            sets of cells for pictures

The method is that of `docs/proving.md`. A success is a certificate that the checker has accepted.
"""
