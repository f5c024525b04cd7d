/** Patterns of tool names: `find_*`. */

/** Returns whether a pattern, in which `*` stands for any text, matches a whole name. */
export function matchesTool(pattern: string, name: string): boolean {
  const literal = pattern.split('*').map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`, 's').test(name);
}
