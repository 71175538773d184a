package sub

// First returns the first item.
func First(xs []int) int { return xs[0] }
