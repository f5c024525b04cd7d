/**
 * IDs are strings that sort by creation time: 48 bits of milliseconds and 32 random bits, in Crockford's base 32. The
 * prefix is the kind of object that an ID identifies.
 */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

type IdPrefix = 'b' | 'r' | 's' | 'c'; // batch, rollout, session, command

function encode(value: number, digits: number): string {
  let text = '';
  let rest = value;
  for (let i = 0; i < digits; i++) {
    text = (ALPHABET[rest % 32] ?? '0') + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Returns a new ID such as `r0k2v9s8d7a1b2c3d4`: one letter, 10 digits of time, 7 random digits. */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  const [first, second] = crypto.getRandomValues(new Uint32Array(2));
  return prefix + encode(nowMs, 10) + encode(first ?? 0, 4) + encode(second ?? 0, 3);
}

/** One request for random numbers returns at most 65,536 bytes. */
const MAX_RANDOM = 65_536 / Uint32Array.BYTES_PER_ELEMENT;

/** Returns different new IDs: with few random digits, some of the same millisecond would collide. */
export function newIds(prefix: IdPrefix, count: number, nowMs: number = Date.now()): string[] {
  const start = prefix + encode(nowMs, 10);
  const ids = new Set<string>();
  while (ids.size < count) {
    const random = crypto.getRandomValues(new Uint32Array(Math.min(2 * (count - ids.size), MAX_RANDOM)));
    for (let at = 0; at < random.length; at += 2)
      ids.add(start + encode(random[at] ?? 0, 4) + encode(random[at + 1] ?? 0, 3));
  }
  return [...ids];
}

/** Returns when an ID was created, in milliseconds; undefined for an ID in another format. */
export function idTime(id: string): number | undefined {
  if (id.length !== 18) return undefined;
  let value = 0;
  for (const digit of id.slice(1, 11)) {
    const place = ALPHABET.indexOf(digit);
    if (place === -1) return undefined;
    value = value * 32 + place;
  }
  return value;
}
