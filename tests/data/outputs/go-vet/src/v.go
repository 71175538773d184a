package kv

import "fmt"

// Show prints.
func Show(n int) {
	fmt.Printf("%s\n", n)
	return
	fmt.Println("never")
}
