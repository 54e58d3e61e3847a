"""Two states, exactly: closed forms along each side of a target, certified in ball arithmetic."""
