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
  const random = crypto.getRandomValues(new Uint32Array(2));
  return prefix + encode(nowMs, 10) + encode(random[0] ?? 0, 4) + encode(random[1] ?? 0, 3);
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
