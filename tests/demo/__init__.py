"""The demonstration: the whole product on this machine, with stand-ins for GitHub and the model."""
