/**
 * The variable `NODE_OPTIONS` of a Node.js whose clock is off by `ms`, and only that: monotonic time and timers are as
 * they are.
 */
export function shiftedClock(ms: number): string {
  const program = `
const Real = Date;
const now = () => Real.now() + ${ms};
globalThis.Date = new Proxy(Real, {
  construct: (target, values, made) => Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});`;
  return `--import data:text/javascript;base64,${Buffer.from(program).toString('base64')}`;
}
