@test "adds" {
  run echo 3
  [ "$output" = "4" ]
}

@test "good" {
  true
}

@test "later" {
  skip "not now"
}
