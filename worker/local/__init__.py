"""What a person runs on a machine of their own: `check` a change, `verify` evidence about one."""
