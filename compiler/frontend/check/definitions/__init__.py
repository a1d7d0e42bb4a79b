"""Parts of definitions: type expressions, patterns, parameters, results."""
