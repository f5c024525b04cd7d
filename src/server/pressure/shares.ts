/** Divides the permits of an endpoint. Pure. */
import type { WaitReason } from '../../trace/schema.ts';
import { type Claim, divideByOwner, roundParts } from '../shares/divide.ts';

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

/** A session that can use permits, and whose share it uses. */
export interface PermitClaim extends Claim {
  /** Whether it may make no call now, since a limit on tokens was reached. */
  readonly blocked: boolean;
}

export interface DividedPermits {
  /** By claim. */
  readonly permits: readonly number[];
  /** Why a claim has none, if others have them. */
  readonly waits: readonly (WaitReason | undefined)[];
}

/**
 * Divides permits among sessions: first by priority, then by weight among owners, then by what the sessions of each can
 * use. A single owner gets all of them, as `sharePermits` divides them. `turn`: as there.
 */
export function dividePermits(permits: number, claims: readonly PermitClaim[], turn: number): DividedPermits {
  const shares = claims.map(() => 0);
  const waits: (WaitReason | undefined)[] = claims.map(({ blocked }) => (blocked ? 'tokens' : undefined));
  const open = claims.flatMap((claim, index) => (claim.blocked ? [] : [index]));
  const give = (to: readonly number[], amount: number): void => {
    const demands = to.map((index) => claims[index]?.demand ?? 0);
    sharePermits(amount, demands, turn).forEach((share, place) => {
      const index = to[place];
      if (index !== undefined) shares[index] = share;
    });
  };
  const owners = divideByOwner(
    permits,
    open.map((index) => claims[index] as PermitClaim), // an index of it
  ).map((owner) => ({ ...owner, claims: owner.claims.map((place) => open[place] ?? 0) }));
  if (owners.length <= 1) {
    give(open, permits);
    return { permits: shares, waits };
  }
  // What nobody needs now lets each session begin a call at once.
  const rest = Math.max(0, permits - owners.reduce((sum, { part }) => sum + part, 0));
  const parts = owners.map(({ part, claims: own }) => part + (rest * own.length) / open.length);
  const amounts = roundParts(parts, turn);
  const highest = owners.find(({ demand }) => demand > 0)?.priority ?? -Infinity;
  owners.forEach((owner, place) => {
    give(owner.claims, amounts[place] ?? 0);
    for (const index of owner.claims)
      if (permits > 0 && shares[index] === 0) waits[index] = owner.priority < highest ? 'priority' : 'share';
  });
  return { permits: shares, waits };
}
