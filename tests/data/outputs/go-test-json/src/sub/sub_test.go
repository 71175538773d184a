package sub

import "testing"

func TestFirst(t *testing.T) {
	if First([]int{3}) != 3 {
		t.Error("three")
	}
}

func TestEmpty(t *testing.T) {
	First(nil)
}
