/** Returns a `NODE_OPTIONS` that shifts the wall clock of Node.js by `ms`. Monotonic time and timers are unchanged. */
export function shiftedClock(ms: number): string {
  const program = `
const Real = Date;
const now = () => Real.now() + ${ms};
globalThis.Date = new Proxy(Real, {
  construct: (target, values, type) => Reflect.construct(target, values.length === 0 ? [now()] : values, type),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});`;
  return `--import data:text/javascript;base64,${Buffer.from(program).toString('base64')}`;
}
