/** Marks of places of a value that is compared with another one. */

export interface ValueMark {
  readonly sign: string;
  readonly title: string;
  /** Which of the two values this is: it decides the color. */
  readonly side: 'real' | 'predicted';
  /** Whether the difference counts. */
  readonly counts: boolean;
}

export type ValueMarks = ReadonlyMap<string, ValueMark>;

export function Sign({ mark: { sign, title } }: { readonly mark: ValueMark }) {
  return (
    <span class="value-sign" role="img" aria-label={title} title={title}>
      {sign}
    </span>
  );
}

/** Returns the mark of a row; for a collapsed container, how many places inside are marked. */
export function markOf(marks: ValueMarks, key: string, isCollapsed: boolean): ValueMark | undefined {
  const own = marks.get(key);
  if (own !== undefined || !isCollapsed) return own;
  const inside = [...marks].filter(([at]) => at.startsWith(`${key}/`)).map(([, mark]) => mark);
  const first = inside.find(({ counts }) => counts) ?? inside[0];
  if (first === undefined) return undefined;
  return inside.length === 1 ? first : { ...first, title: `${inside.length} places inside differ` };
}
