/** Returns who launched a batch and whom it is shared with; empty if it belongs to nobody. */
export function ownerText({
  by,
  shared = [],
}: {
  readonly by?: string | undefined;
  readonly shared?: 'everyone' | readonly string[] | undefined;
}): string {
  if (by === undefined) return '';
  if (shared === 'everyone') return `${by}, shared with everyone`;
  return shared.length === 0 ? by : `${by}, shared with ${shared.join(', ')}`;
}
