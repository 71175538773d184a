exports.chunk = (xs, n) => {
  const out = [];
  for (let i = 0; i <= xs.length; i += n) out.push(xs.slice(i, i + n));
  return out;
};
exports.later = () => new Promise((_, reject) => setTimeout(() => reject(new TypeError("bad reply")), 5));
