/// Adds.
///
/// ```
/// assert_eq!(inv::add(1, 1), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

pub fn head(xs: &[i32]) -> i32 {
    xs[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        println!("test tests::printed ... FAILED");
        assert_eq!(add(2, 2), 5, "two and two");
    }

    #[test]
    fn reads_head() {
        head(&[]);
    }

    #[test]
    fn works() {}

    #[test]
    #[ignore]
    fn slow() {}

    #[test]
    fn says_so() -> Result<(), String> {
        Err("not today".into())
    }

    #[test]
    #[should_panic]
    fn calm() {}
}
