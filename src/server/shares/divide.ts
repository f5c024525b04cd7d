/**
 * Divides what is scarce: first by priority, then by weight among owners (queues, and within each its users), then
 * among what each owner runs. What one cannot use goes to the others. Pure, and linear but for sorting, so that a
 * server can do it for a thousand workers several times a second.
 */

/** Something that needs a part: a worker's session, or a batch. */
export interface Claim {
  readonly priority: number;
  /** Absent where the server has no queues. */
  readonly queue: string | undefined;
  readonly queueWeight: number;
  readonly user: string;
  readonly userWeight: number;
  /** How much it can use. */
  readonly demand: number;
}

/** A node of the tree: what is divided among `children`, or what a claim gets. */
interface Share {
  readonly weight: number;
  demand: number;
  readonly children: Share[];
  /** Index of the claim, of a leaf. */
  readonly claim: number;
  part: number;
}

interface OwnerShare {
  readonly priority: number;
  readonly key: string;
  /** Indexes of the claims. */
  readonly claims: readonly number[];
  /** What they can use together, and what they get. */
  readonly demand: number;
  readonly part: number;
}

/** Returns the part of each claim, which is at most its demand. Parts are not rounded. */
export function divide(amount: number, claims: readonly Claim[]): number[] {
  const parts = claims.map(() => 0);
  for (const { claims: own, part } of divideByOwner(amount, claims)) {
    // Equal parts for what an owner runs: a small batch does not wait for a large one of the same user.
    const leaves = own.map((claim) => leaf(claim, claims[claim]?.demand ?? 0));
    fill(part, leaves);
    for (const { claim, part: value } of leaves) parts[claim] = value;
  }
  return parts;
}

/** Returns the part of each owner, in an order that depends on priorities and names only. */
export function divideByOwner(amount: number, claims: readonly Claim[]): OwnerShare[] {
  const owners: OwnerShare[] = [];
  let left = Math.max(0, amount);
  for (const [priority, level] of byPriority(claims)) {
    const queues = new Map<string, { readonly share: Share; readonly users: Map<string, UserShare> }>();
    for (const index of level) {
      const claim = claims[index];
      if (claim === undefined) continue;
      const name = claim.queue ?? '';
      let queue = queues.get(name);
      if (queue === undefined) queues.set(name, (queue = { share: inner(claim.queueWeight), users: new Map() }));
      let user = queue.users.get(claim.user);
      if (user === undefined) {
        user = { share: inner(claim.userWeight), claims: [] };
        queue.users.set(claim.user, user);
        queue.share.children.push(user.share);
      }
      user.claims.push(index);
      user.share.demand += claim.demand;
      queue.share.demand += claim.demand;
    }
    const sorted = [...queues].sort(byName);
    left -= fill(
      left,
      sorted.map(([, { share }]) => share),
    );
    for (const [name, { users }] of sorted)
      for (const [user, { share, claims: own }] of [...users].sort(byName))
        owners.push({
          priority,
          key: JSON.stringify([priority, name, user]),
          claims: own,
          demand: share.demand,
          part: share.part,
        });
  }
  return owners;
}

/**
 * Rounds parts to whole numbers that add up to their sum. In the long run of `turns`, each gets exactly its part, and
 * in every turn less than one more or less, which holds for neighbors together, too.
 */
export function roundParts(parts: readonly number[], turn: number): number[] {
  // Systematic sampling: the same offset for all sums, and offsets that fill the unit interval evenly.
  const offset = fraction(turn * GOLDEN);
  let sum = 0;
  let before = 0;
  return parts.map((part, index) => {
    sum += part;
    // Rounding errors of the sum must not lose the last one.
    const exact = index === parts.length - 1 ? Math.round(sum * 1e6) / 1e6 : sum;
    const floor = Math.floor(exact + offset + EPSILON);
    const value = floor - before;
    before = floor;
    return value;
  });
}

interface UserShare {
  readonly share: Share;
  readonly claims: number[];
}

/** Multiples of it, without their whole parts, are never close to each other. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
const EPSILON = 1e-9;

function fraction(value: number): number {
  return value - Math.floor(value);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the indexes of claims by priority, the highest first. */
function byPriority(claims: readonly Claim[]): [number, number[]][] {
  const levels = new Map<number, number[]>();
  claims.forEach(({ priority }, index) => {
    const level = levels.get(priority);
    if (level === undefined) levels.set(priority, [index]);
    else level.push(index);
  });
  return [...levels].sort(([a], [b]) => b - a);
}

function inner(weight: number): Share {
  return { weight, demand: 0, children: [], claim: -1, part: 0 };
}

function leaf(claim: number, demand: number): Share {
  return { weight: 1, demand, children: [], claim, part: 0 };
}

/**
 * Divides an amount among shares by weight, none of which gets more than its demand, and then what each gets among its
 * children. Returns what was given out.
 */
function fill(amount: number, shares: readonly Share[]): number {
  let left = amount;
  let weights = shares.reduce((sum, { weight }) => sum + weight, 0);
  // In this order, the first that gets less than its demand is followed only by such.
  for (const share of [...shares].sort((a, b) => a.demand / a.weight - b.demand / b.weight)) {
    share.part = weights <= 0 ? 0 : Math.min(share.demand, (left * share.weight) / weights);
    left = Math.max(0, left - share.part);
    weights -= share.weight;
    if (share.children.length > 0) fill(share.part, share.children);
  }
  return amount - left;
}
