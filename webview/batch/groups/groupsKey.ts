/** Returns the key under which the page remembers whether it shows batches of this name as groups. */
export function groupsKey(name: string): string {
  return `batch.groups.${name}`;
}
