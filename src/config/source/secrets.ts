/** Detects secrets, which must not appear in files or in messages about them. */
import { envNamesIn } from '../env.ts';

/** Prefixes of keys and tokens of well-known services. */
const KEY_SHAPES = new RegExp(
  String.raw`(?:^|[\s=:"'])(?:` +
    [
      String.raw`sk-[\w-]{16,}`,
      String.raw`hf_\w{16,}`,
      String.raw`gh[opsur]_\w{20,}`,
      String.raw`github_pat_\w{20,}`,
      String.raw`glpat-[\w-]{16,}`,
      String.raw`xox[abprs]-[\w-]{10,}`,
      String.raw`AKIA[A-Z0-9]{16}`,
      String.raw`AIza[\w-]{30,}`,
      String.raw`nvapi-[\w-]{20,}`,
      String.raw`gsk_\w{20,}`,
      String.raw`eyJ[\w-]{10,}\.[\w-]{10,}\.`,
    ].join('|') +
    ')',
);
const PASSWORD_IN_URL = /^[a-z][\w+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;

/** Returns whether a literal is probably a secret. `hidden`: in places for secrets, random-looking text is enough. */
export function looksSecret(text: string, hidden: boolean): boolean {
  const password = PASSWORD_IN_URL.exec(text)?.[1];
  if (password !== undefined && envNamesIn(password).length === 0) return true;
  const literal = text.replaceAll(/\$\{[^}]*\}/g, ' ');
  if (KEY_SHAPES.test(literal)) return true;
  if (!hidden) return false;
  return (literal.match(/[A-Za-z0-9]{16,}/g) ?? []).some((word) => /[A-Za-z]/.test(word) && /\d/.test(word));
}
