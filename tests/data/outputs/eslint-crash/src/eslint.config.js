export default [{ rules: { "no-such-rule-here": "error" } }];
