"""What every other folder uses and what knows nothing about programs: places, errors, remarks."""
