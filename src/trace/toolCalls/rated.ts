/**
 * How the calls of an agent ended, for tool success and parameter accuracy. Defined here once.
 *
 * A call counts if it ended, unless it was interrupted together with its rollout or worker. Calls of `predict` do not
 * count: they happen in no world.
 *
 * - It succeeded if it ended without an error, and its response does not say that it failed.
 * - Its arguments are valid unless it was refused for its form: an unknown tool, text that is no JSON object, or
 *   arguments that do not match the schema of the tool.
 */
import { seedOf } from '../../common/hash.ts';
import { canonicalJson } from '../../common/json.ts';
import { isFormError } from '../callTroubles.ts';
import { responseIn } from '../control/known.ts';
import { toObservation } from '../control/observation.ts';
import type { CalledTool, CalledTools } from '../schema/calls.ts';
import type { ErrorClass, EventOf, TraceEvent } from '../schema.ts';

/** Of further calls, only the numbers are kept, so that the row of a rollout stays small. */
const MAX_LISTED = 256;
const INTERRUPTED: ReadonlySet<ErrorClass> = new Set(['infrastructure', 'cancelled', 'limit']);

/** Lists the calls of a rollout while it runs. Takes its own events only, not those of an ancestor. */
export class RatedCalls {
  readonly #except: string | undefined;
  readonly #open = new Map<number, EventOf<'tool.start'>>();
  /** Results by ordinal of their message, until their calls end. */
  readonly #results = new Map<number, EventOf<'message'>>();
  readonly #tools = new Map<string, CalledTool>();
  #listed = 0;

  /** `except`: a tool whose calls do not count. */
  constructor(except: string | undefined) {
    this.#except = except;
  }

  add(event: TraceEvent): void {
    if (event.kind === 'tool.start') this.#open.set(event.seq, event);
    else if (event.kind === 'message' && event.data.role === 'tool') this.#results.set(event.data.m, event);
    else if (event.kind === 'tool.end') this.#end(event);
  }

  /** By tool; empty without calls. */
  tools(): CalledTools {
    return Object.fromEntries(this.#tools);
  }

  #end({ span = 0, data: { status, error, m } }: EventOf<'tool.end'>): void {
    const start = this.#open.get(span);
    this.#open.delete(span);
    const message = m === undefined ? undefined : this.#results.get(m);
    if (m !== undefined) this.#results.delete(m);
    if (start === undefined || start.data.name === this.#except || status === 'cut') return;
    if (error !== undefined && INTERRUPTED.has(error.class)) return;
    const { name, arguments: args } = start.data;
    // Models may call any number of tools that do not exist.
    const tool = this.#tool(error?.class === 'unknown_tool' ? '' : name);
    if (error !== undefined && isFormError(error.class)) {
      tool.invalid = (tool.invalid ?? 0) + 1;
      return;
    }
    const response = responseIn(message);
    const failed = error !== undefined || (response !== undefined && toObservation(response).failed);
    const how = failed ? 'failed' : 'succeeded';
    if (this.#listed === MAX_LISTED) {
      tool.more ??= { succeeded: 0, failed: 0 };
      tool.more[how] += 1;
      return;
    }
    this.#listed += 1;
    (tool[how] ??= []).push(seedOf(canonicalJson(args)));
  }

  #tool(name: string): CalledTool {
    let tool = this.#tools.get(name);
    if (tool === undefined) this.#tools.set(name, (tool = {}));
    return tool;
  }
}
