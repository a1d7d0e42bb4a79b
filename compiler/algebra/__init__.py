"""Polynomials, LMADs, and a prover for questions about them; independent of programs.

    poly.py             multivariate polynomials with integer coefficients
    lmad.py             linear memory access descriptors: index functions and sets of cells
    facts.py            assumptions, and sample points that satisfy them
    inequality.py       proves `p >= 0` as a sum of products of facts
    constant.py         decides disjointness of constant LMADs exactly
    problem.py          two LMADs as one equation (difference form), and its lossless rewritings
    disjoint.py         proves that the equation has no solution, finds one, or says what is missing
    tighten.py          rounds facts after division by a common factor
    quotients.py        facts about quotients, with the lines that prove them
    decide.py           reads a problem in its notation, and decides it
    divide.py           division of polynomials
    canonical_names.py  caches answers up to renaming
    certificate.py      data types of proofs
    encode.py           a claim and its proof as plain data
    checker.py          verifies certificates; imports nothing of the compiler
    argument.py         proofs that an integer expression of a program is not negative, step by step
    gate.py             has the checker verify such steps before anything rests on them
    export.py           the obligations of a proof, and its claim, for other provers
    formulas.py         premises as formulas about integers
    smtlib.py           obligations as SMT-LIB questions
    lean.py             obligations as theorems of Lean
    bitvectors.py       claims as SMT-LIB questions for counterexamples
    notation.py         reads problems from JSON and text
    as_data.py          polynomials and LMADs as plain data for answers
    layouts.py          composition and complement of LMADs
    index_functions.py  index functions of three generations: chains, compositions, single LMADs
    show.py             verdicts and proofs as plain data, and as text
    cells.py            sets of cells for pictures

The method is described in `docs/proving.md`. A success is a certificate that the checker has
accepted.
"""
