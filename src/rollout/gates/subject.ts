import type { Change } from '../../trace/schema.ts';
import type { EffectKind, Effects } from '../act/recorded.ts';
import type { LoggedMessage } from '../log/messages.ts';
import type { Stop } from '../stop.ts';

/** The effect at a gate. */
export interface Subject<K extends EffectKind = EffectKind> {
  /** Instance path; '' for the rollout as a whole. */
  readonly agent: string;
  readonly kind: K;
  readonly name: string;
  /** seq of its start. */
  readonly span: number;
  /** Its step; 0: before the first one. */
  readonly step: number;
  /** For a side model's call: the agent whose step contains it, if it is not made after the end of all agents. */
  readonly caller?: string;
  /** Ends it, and its hold, before the rollout ends. */
  readonly stop?: Stop;
  /** The request with the edits so far. */
  start: Effects[K]['start'];
  /** The result; absent before the effect. */
  end?: { readonly seq: number; readonly data: Effects[K]['end']; message: LoggedMessage | undefined };
  /** For a model call: whether it is the first to see a message, which can therefore still be edited here. */
  readonly isNew?: (m: number) => boolean;
  /** Set when a person steps into its code: receives the debugger URL, if any. */
  inspect?: (url: string | undefined) => void;
  /** Changes of the world by this effect. */
  changes?: readonly Change[];
}

export type Side = 'before' | 'after';
