"""Types and sizes with metavariables: representation, substitution, unification."""
