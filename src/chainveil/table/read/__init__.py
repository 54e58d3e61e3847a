"""Tables as they come in: files of every format and data frames, the same at each reading."""
