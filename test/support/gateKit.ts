/** A rollout of two steps with one tool, to be held at its gates. */
import { StudioError } from '../../src/common/errors.ts';
import type { Breakpoint } from '../../src/protocol/commands.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { type Kit, type KitOptions, kit, ScriptedModel, ScriptedTools } from './rolloutKit.ts';

export interface Run extends Kit {
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
}

export function run(options: KitOptions = {}): Run {
  const model = new ScriptedModel([
    { text: 'a', calls: [{ name: 'times', arguments: { a: 6, b: 7 } }] },
    { text: '42' },
  ]);
  const tools = new ScriptedTools({ times: { run: (args) => Number(args['a']) * Number(args['b']) } });
  return { ...kit({ model, tools, ...options }), model, tools };
}

export const TOOL: Breakpoint = { id: 'bp', side: 'before', tool: 'times' };

function isHold(nth: number): (event: TraceEvent) => boolean {
  let seen = 0;
  const counted = new Set<number>();
  return (event) => {
    if (event.kind !== 'hold') return false;
    if (!counted.has(event.seq)) {
      counted.add(event.seq);
      seen++;
    }
    return seen >= nth;
  };
}

/** Runs until the n-th hold. */
export async function heldAt(one: Kit, nth = 1): Promise<Extract<TraceEvent, { kind: 'hold' }>> {
  return (await one.recorder.when(isHold(nth))) as Extract<TraceEvent, { kind: 'hold' }>;
}

export const conflict = (error: unknown): boolean => StudioError.is(error, 'conflict');
