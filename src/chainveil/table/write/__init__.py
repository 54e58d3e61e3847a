"""Tables as they go out: published columns, formats, and files that appear whole or not at all."""
