/**
 * All breakpoints of a debug session: as the client set them, and as the gates of a rollout know them. A breakpoint of
 * the client may be on a line of a tool, of an agent's file or of the trajectory's text, on a tool by name, on an
 * error,
 * or on a table of the world; at the gates each is a condition.
 */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { errorText } from '../../common/errors.ts';
import { BreakpointSet } from '../../protocol/breakpointSet.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import type { LineMeaning } from '../sources/toolPlaces.ts';
import { exceptionCondition } from './exceptions.ts';

/** What makes a breakpoint stop: conditions of a gate, or one stop of the record. */
interface Entry {
  readonly id: number;
  readonly gates: readonly Breakpoint[];
  /** seq of a stop. */
  readonly stop?: number;
  readonly exception?: boolean;
}

interface BreakpointCondition {
  readonly condition?: string | undefined;
  readonly hitCondition?: string | undefined;
  readonly logMessage?: string | undefined;
}

export class BreakpointTable {
  readonly #prefix: string;
  /** By what they were set for: a file's, functions, exceptions, data. Each setting replaces all of its kind. */
  readonly #byOrigin = new Map<string, Entry[]>();
  #ids = 0;

  /** `prefix`: begins the ids of this session's breakpoints, so that others of the batch stay. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** What the gates get. */
  get gates(): Breakpoint[] {
    return [...this.#byOrigin.values()].flat().flatMap((entry) => [...entry.gates]);
  }

  /** Stops of the record that hold without a condition. */
  get stops(): ReadonlySet<number> {
    return new Set([...this.#byOrigin.values()].flat().flatMap(({ stop }) => stop ?? []));
  }

  /** The client's ids of those that hold at a gate or a stop. */
  idsOf(gateIds: readonly string[], stop: number | undefined): number[] {
    return [...this.#byOrigin.values()]
      .flat()
      .filter(
        (entry) => entry.gates.some(({ id }) => gateIds.includes(id)) || (stop !== undefined && entry.stop === stop),
      )
      .map(({ id }) => id);
  }

  isException(gateIds: readonly string[]): boolean {
    return [...this.#byOrigin.values()]
      .flat()
      .some((entry) => entry.exception === true && entry.gates.some(({ id }) => gateIds.includes(id)));
  }

  /** Breakpoints on lines of a file; `meaning` tells what a line stands for. */
  setLines(
    file: string,
    wanted: readonly DebugProtocol.SourceBreakpoint[],
    meaning: (line: number) => LineMeaning | undefined,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      `file:${file}`,
      wanted.map((one) => {
        const found = meaning(one.line);
        if (found === undefined)
          return {
            problem:
              'A rollout does not come by here: set it on a tool, on an agent’s entry of tools, or on its model.',
            line: one.line,
          };
        const what =
          found.kind === 'model'
            ? { kind: 'model' as const }
            : found.names.length === 1
              ? { tool: found.names[0] ?? '' }
              : { kind: 'tool' as const };
        const when =
          found.kind === 'tools' && found.names.length > 1 ? `tool.name in ${JSON.stringify(found.names)}` : undefined;
        return { ...this.#gate({ side: 'before', ...what }, when, one), line: found.line };
      }),
    );
  }

  /** Breakpoints on lines of a trajectory's text: `stopAt` gives the stop that is written there. */
  setTrajectoryLines(
    rollout: string,
    wanted: readonly DebugProtocol.SourceBreakpoint[],
    stopAt: (line: number) => { readonly seq: number; readonly line: number } | undefined,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      `trajectory:${rollout}`,
      wanted.map((one) => {
        const stop = stopAt(one.line);
        if (stop === undefined) return { problem: 'Nothing has happened yet.', line: one.line };
        const plain = one.condition === undefined && one.hitCondition === undefined && one.logMessage === undefined;
        return plain
          ? { gates: [], stop: stop.seq, line: stop.line }
          : { ...this.#gate({ side: 'before' }, `event.seq == ${stop.seq}`, one), line: stop.line };
      }),
    );
  }

  /** Breakpoints on tools by name; `model` = every model call. `known`: names of tools there are. */
  setFunctions(
    wanted: readonly DebugProtocol.FunctionBreakpoint[],
    known: ReadonlySet<string>,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      'functions',
      wanted.map((one) => {
        const name = one.name.trim();
        const made = this.#gate(
          name === 'model' && !known.has(name) ? { side: 'before', kind: 'model' } : { side: 'before', tool: name },
          undefined,
          one,
        );
        if (known.has(name) || name === 'model' || 'problem' in made) return made;
        return {
          ...made,
          note:
            `No tool “${name}” is known ` +
            `yet${known.size === 0 ? '' : `; there are ${[...known].slice(0, 12).join(', ')}`}.`,
        };
      }),
    );
  }

  setExceptions(
    wanted: readonly { readonly filter: string; readonly condition?: string | undefined }[],
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      'exceptions',
      wanted.map(({ filter, condition }) => {
        const found = exceptionCondition(filter, condition);
        if (found === undefined) return { problem: `There is no exception filter “${filter}”.` };
        return { ...this.#gate({ side: found.side }, found.when, {}), exception: true };
      }),
    );
  }

  /** Breakpoints on changes of the world: `dataId` names a table, a row of one, or a file. */
  setData(wanted: readonly DebugProtocol.DataBreakpoint[]): DebugProtocol.Breakpoint[] {
    return this.#set(
      'data',
      wanted.map((one) => {
        // our own, from dataBreakpointInfo
        const about = JSON.parse(one.dataId) as { table?: string; key?: unknown; file?: string };
        const tests =
          about.file === undefined
            ? [
                `c.table == ${JSON.stringify(about.table ?? '')}`,
                ...(about.key === undefined ? [] : [`c.key == ${JSON.stringify(about.key)}`]),
              ]
            : [`has(c.file) && c.file == ${JSON.stringify(about.file)}`];
        return this.#gate(
          { side: 'after', kind: 'tool' },
          `world.changes.exists(c, ${about.file === undefined ? 'has(c.table) && ' : ''}${tests.join(' && ')})`,
          one,
        );
      }),
    );
  }

  #gate(
    what: Pick<Breakpoint, 'side' | 'tool' | 'kind'>,
    when: string | undefined,
    { condition, hitCondition, logMessage }: BreakpointCondition,
  ): NewBreakpoint {
    const hits = hitsOf(hitCondition);
    if (hits === undefined)
      return {
        problem: `“${hitCondition ?? ''}” is no hit count: give a number n, or >= n; it stops from the n-th hit on.`,
      };
    const both = [when, condition?.trim() === '' ? undefined : condition].filter((part) => part !== undefined);
    this.#ids += 1;
    const gate: Breakpoint = {
      id: `${this.#prefix}${this.#ids}`,
      ...what,
      ...(both.length === 0
        ? {}
        : { when: both.length === 1 ? (both[0] ?? '') : both.map((part) => `(${part})`).join(' && ') }),
      ...(hits > 1 ? { hits } : {}),
      ...(logMessage === undefined || logMessage === '' ? {} : { log: logMessage }),
    };
    try {
      new BreakpointSet().set([gate]);
    } catch (error) {
      return { problem: errorText(error) };
    }
    return { gates: [gate] };
  }

  #set(origin: string, made: readonly NewBreakpoint[]): DebugProtocol.Breakpoint[] {
    const entries: Entry[] = [];
    const told = made.map((one): DebugProtocol.Breakpoint => {
      this.#ids += 1;
      const line = one.line === undefined ? {} : { line: one.line };
      if ('problem' in one) return { id: this.#ids, verified: false, message: one.problem, ...line };
      entries.push({
        id: this.#ids,
        gates: one.gates,
        ...(one.stop === undefined ? {} : { stop: one.stop }),
        ...(one.exception === true ? { exception: true } : {}),
      });
      return {
        id: this.#ids,
        verified: one.note === undefined,
        ...line,
        ...(one.note === undefined ? {} : { message: one.note }),
      };
    });
    this.#byOrigin.set(origin, entries);
    return told;
  }
}

type NewBreakpoint =
  | { readonly problem: string; readonly line?: number }
  | {
      readonly gates: readonly Breakpoint[];
      readonly stop?: number;
      readonly exception?: boolean;
      readonly note?: string;
      readonly line?: number;
    };

/** From which hit on it holds; undefined when the text is no count. */
function hitsOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return 1;
  const match = /^(>=?|=)?\s*(\d+)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.max(1, Number(match[2]) + (match[1] === '>' ? 1 : 0));
}
