"""What a run is: values and rules, standard library only, no clock, environment, file or socket."""
