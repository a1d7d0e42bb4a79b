"""What a definition is made of: type expressions, patterns, parameters, results."""
