import type { Json, JsonObject } from '../common/json.ts';

/** One problem of a dataset. */
export interface TaskRecord {
  readonly id: string;
  readonly question: string;
  readonly answer?: Json;
  /** Attachments, copied to the rollout's working directory before it starts. */
  readonly files?: readonly { readonly name: string; readonly sha: string; readonly bytes: number }[];
  readonly level?: string | number;
  readonly world?: { readonly seed?: number; readonly state?: Json };
  readonly meta: JsonObject;
}
