pub fn one() -> i32 {
    1
}

#[test]
fn is_one() {
    assert_eq!(one(), 1);
}
