/** The parts of a question: its choices, and the answer. */

/** An entry of a quick pick. */
export interface Choice<T> {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** A codicon. */
  readonly icon?: string;
  /** The heading of the section that begins with it; empty: only a line. */
  readonly section?: string;
  readonly value: T;
}

export const BACK = Symbol('back');
/** An answer, `BACK`, or undefined if the user cancelled. */
export type Answer<T> = T | typeof BACK | undefined;

/** Passes an answer to `store`, unless the user went back or cancelled. Returns the answer. */
export function storeAnswer<T>(answer: Answer<T>, store: (value: T) => void): Answer<T> {
  if (answer !== undefined && answer !== BACK) store(answer);
  return answer;
}
