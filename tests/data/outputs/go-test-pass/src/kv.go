package kv

import "errors"

// Get returns the value of key.
func Get(m map[string]int, key string) (int, error) {
	v, ok := m[key]
	if !ok {
		return 0, errors.New("no such key")
	}
	return v, nil
}
