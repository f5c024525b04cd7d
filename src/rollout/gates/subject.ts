import type { Change } from '../../trace/schema.ts';
import type { EffectKind, Effects } from '../act/recorded.ts';
import type { LoggedMessage } from '../log/messages.ts';

/** The effect at a gate. */
export interface Subject<K extends EffectKind = EffectKind> {
  /** Instance path; '' for what belongs to the rollout as a whole. */
  readonly agent: string;
  readonly kind: K;
  readonly name: string;
  /** seq of its start. */
  readonly span: number;
  /** The step it belongs to; 0 = before the first. */
  readonly step: number;
  /** What is asked, with the edits made so far. */
  start: Effects[K]['start'];
  /** What came of it; absent before. */
  end?: { readonly seq: number; readonly data: Effects[K]['end']; message: LoggedMessage | undefined };
  /** Of a model call: whether it is the first to see this message, which may therefore still be edited here. */
  readonly isNew?: (m: number) => boolean;
  /** Somebody steps into its code, and waits to hear where a debugger finds it; undefined: nowhere. */
  inspect?: (url: string | undefined) => void;
  /** What the world changed through it. */
  changes?: readonly Change[];
}

export type Side = 'before' | 'after';
