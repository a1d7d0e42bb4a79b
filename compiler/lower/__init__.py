"""Lower the typed program to the core language: no polymorphism, functional values or records.

`monomorphise` makes one version of each definition per type instance and per functional argument;
`soa` turns that into first-order A-normal form over arrays of primitives.
"""
