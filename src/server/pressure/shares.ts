/**
 * Divides permits among sessions by what they can use. If there are enough, each session gets at least one, so that
 * none waits for a heartbeat to make its first call. If there are fewer, the sessions that can use one take turns.
 *
 * `demands`: rollouts of each session that could call now. `turn`: a number that grows with time.
 */
export function sharePermits(permits: number, demands: readonly number[], turn: number): number[] {
  const shares = demands.map(() => 0);
  if (permits <= 0 || demands.length === 0) return shares;
  if (permits < demands.length) {
    const all = demands.map((_, index) => index);
    const needy = all.filter((index) => (demands[index] ?? 0) > 0);
    const receivers = needy.length > 0 ? needy : all;
    for (let i = 0; i < Math.min(permits, receivers.length); i++) {
      const receiver = receivers[(turn + i) % receivers.length];
      if (receiver !== undefined) shares[receiver] = 1;
    }
    return shares;
  }
  const rest = permits - demands.length;
  const weights = demands.map((demand) => demand + 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const exact = weights.map((weight) => (rest * weight) / total);
  let remaining = rest;
  exact.forEach((value, index) => {
    shares[index] = 1 + Math.floor(value);
    remaining -= Math.floor(value);
  });
  const byRemainder = exact
    .map((value, index) => ({ index, part: value - Math.floor(value) }))
    .sort((a, b) => b.part - a.part || a.index - b.index);
  for (const { index } of byRemainder.slice(0, remaining)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}
