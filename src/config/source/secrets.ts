/** Detects secrets, which must not appear in files or in messages about them. */
import { envNamesIn } from '../env.ts';

/** Prefixes of keys and tokens of well-known services. */
const KEY_SHAPES =
  /(?:^|[\s=:"'])(?:sk-[\w-]{16,}|hf_\w{16,}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,}|nvapi-[\w-]{20,}|gsk_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.)/;
const PASSWORD_IN_URL = /^[a-z][\w+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;

/** Returns whether a literal is probably a secret. `hidden`: it is in a place for secrets, so a random-looking text is enough. */
export function looksSecret(text: string, hidden: boolean): boolean {
  const password = PASSWORD_IN_URL.exec(text)?.[1];
  if (password !== undefined && envNamesIn(password).length === 0) return true;
  const literal = text.replaceAll(/\$\{[^}]*\}/g, ' ');
  if (KEY_SHAPES.test(literal)) return true;
  if (!hidden) return false;
  return (literal.match(/[A-Za-z0-9]{16,}/g) ?? []).some((word) => /[A-Za-z]/.test(word) && /\d/.test(word));
}
