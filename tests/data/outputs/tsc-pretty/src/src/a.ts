export function size(x?: string): number {
  return x.length;
}
const n: number = size("a") as string;
