export const total = (xs) => xs.reduce((a, b) => a + b.qty, 0);
