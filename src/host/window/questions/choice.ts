/** An entry of a quick pick. */
export interface Choice<T> {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** A codicon. */
  readonly icon?: string;
  readonly value: T;
}
