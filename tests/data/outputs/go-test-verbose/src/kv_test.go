package kv

import (
	"fmt"
	"testing"
)

func TestGet(t *testing.T) {
	got, _ := Get(map[string]int{"a": 1}, "a")
	if got != 1 {
		t.Errorf("got %d, want 1", got)
	}
}

func TestTable(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			fmt.Println("FAIL: TestPrinted")
			if name == "two" {
				t.Fatal("second row")
			}
		})
	}
}

func TestLater(t *testing.T) { t.Skip("later") }

func TestGood(t *testing.T) {}
