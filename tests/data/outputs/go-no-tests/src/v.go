package kv
