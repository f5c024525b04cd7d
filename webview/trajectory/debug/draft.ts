/** An open form. It is kept while the cursor moves. */
import { Emitter, type Listen } from '../../../src/common/emitter.ts';
import { type EditField, type EditTarget, editsOf, fieldText } from './edits.ts';

/** Default number of continuations of a fork. */
const OFFERED = 4;
export const MAX_ATTEMPTS = 1_000;

export class Draft {
  readonly target: EditTarget;
  readonly #texts = new Map<string, string>();
  readonly #changed = new Emitter<undefined>();
  attempts = OFFERED;
  busy = false;
  problem: string | undefined;
  /** Whether the user must confirm that irreversible calls may be repeated. */
  needsConsent = false;

  constructor(target: EditTarget) {
    this.target = target;
  }

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  textOf(field: EditField): string {
    return this.#texts.get(field.path) ?? fieldText(field.before);
  }

  isChanged(field: EditField): boolean {
    return this.#texts.has(field.path) && this.#texts.get(field.path) !== fieldText(field.before);
  }

  write(field: EditField, text: string): void {
    this.#texts.set(field.path, text);
    this.problem = undefined;
    this.#changed.fire(undefined);
  }

  setAttempts(attempts: number): void {
    this.attempts = attempts;
    this.#changed.fire(undefined);
  }

  /** The text of a form whose only field is not recorded data. */
  get text(): string {
    const [field] = this.target.fields;
    return field === undefined ? '' : this.textOf(field);
  }

  read(): ReturnType<typeof editsOf> {
    return this.target.kind === 'skip' || this.target.kind === 'inject' || this.target.kind === 'answer'
      ? { edits: [], wrong: [] }
      : editsOf(this.target, this.#texts);
  }

  begin(): void {
    this.busy = true;
    this.problem = undefined;
    this.needsConsent = false;
    this.#changed.fire(undefined);
  }

  fail(problem: string, needsConsent = false): void {
    this.busy = false;
    this.problem = problem;
    this.needsConsent = needsConsent;
    this.#changed.fire(undefined);
  }
}
