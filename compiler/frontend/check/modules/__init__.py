"""Modules, module types, and functor application."""
