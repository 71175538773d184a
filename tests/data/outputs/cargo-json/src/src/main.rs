use std::collections::HashMap;

fn main() {
    let total: i64 = 3u8;
    missing(total);
}
