/**
 * All breakpoints of a debug session, in the client's form and as conditions of gates. The client can set one on a line
 * of a tool, of an agent's file, or of the trajectory's text, on a tool by name, on an error, or on a table of the
 * world.
 */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { errorText } from '../../common/errors.ts';
import { BreakpointSet } from '../../protocol/breakpointSet.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import type { LineMeaning } from '../sources/toolPlaces.ts';
import { exceptionCondition } from './exceptions.ts';

/** What a breakpoint stops at: conditions of a gate, or one stop of the recording. */
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
  /** Breakpoints by origin: a file, functions, exceptions, data. Setting an origin replaces all of its breakpoints. */
  readonly #byOrigin = new Map<string, Entry[]>();
  #ids = 0;

  /** `prefix`: starts the IDs of this session's breakpoints, so that others of the batch are kept. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Breakpoints for the gates. */
  get gates(): Breakpoint[] {
    return [...this.#byOrigin.values()].flat().flatMap((entry) => [...entry.gates]);
  }

  /** Unconditional stops of the recording. */
  get stops(): ReadonlySet<number> {
    return new Set([...this.#byOrigin.values()].flat().flatMap(({ stop }) => stop ?? []));
  }

  /** Returns the client's IDs of the breakpoints that match at a gate or a stop. */
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

  /** Sets breakpoints on lines of a file; `meaning` returns what a line defines. */
  setLines(
    file: string,
    requested: readonly DebugProtocol.SourceBreakpoint[],
    meaning: (line: number) => LineMeaning | undefined,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      `file:${file}`,
      requested.map((one) => {
        const found = meaning(one.line);
        if (found === undefined)
          return {
            problem: 'No rollout stops here. Set the breakpoint on a tool, on an agent’s tools entry, or on its model.',
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

  /** Sets breakpoints on lines of a trajectory's text; `stopAt` returns the stop on a line. */
  setTrajectoryLines(
    rollout: string,
    requested: readonly DebugProtocol.SourceBreakpoint[],
    stopAt: (line: number) => { readonly seq: number; readonly line: number } | undefined,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      `trajectory:${rollout}`,
      requested.map((one) => {
        const stop = stopAt(one.line);
        if (stop === undefined) return { problem: 'There are no events yet.', line: one.line };
        const plain = one.condition === undefined && one.hitCondition === undefined && one.logMessage === undefined;
        return plain
          ? { gates: [], stop: stop.seq, line: stop.line }
          : { ...this.#gate({ side: 'before' }, `event.seq == ${stop.seq}`, one), line: stop.line };
      }),
    );
  }

  /** Sets breakpoints on tools by name; `model` is every model call. `tools`: names of the existing tools. */
  setFunctions(
    requested: readonly DebugProtocol.FunctionBreakpoint[],
    tools: ReadonlySet<string>,
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      'functions',
      requested.map((one) => {
        const name = one.name.trim();
        const breakpoint = this.#gate(
          name === 'model' && !tools.has(name) ? { side: 'before', kind: 'model' } : { side: 'before', tool: name },
          undefined,
          one,
        );
        if (tools.has(name) || name === 'model' || 'problem' in breakpoint) return breakpoint;
        return {
          ...breakpoint,
          note:
            `Unknown tool “${name}”` +
            `${tools.size === 0 ? '' : `. Known tools: ${[...tools].slice(0, 12).join(', ')}`}.`,
        };
      }),
    );
  }

  setExceptions(
    requested: readonly { readonly filter: string; readonly condition?: string | undefined }[],
  ): DebugProtocol.Breakpoint[] {
    return this.#set(
      'exceptions',
      requested.map(({ filter, condition }) => {
        const found = exceptionCondition(filter, condition);
        if (found === undefined) return { problem: `Unknown exception filter “${filter}”.` };
        return { ...this.#gate({ side: found.side }, found.when, {}), exception: true };
      }),
    );
  }

  /** Sets breakpoints on changes of the world: `dataId` identifies a table, a row, or a file. */
  setData(requested: readonly DebugProtocol.DataBreakpoint[]): DebugProtocol.Breakpoint[] {
    return this.#set(
      'data',
      requested.map((one) => {
        // the ID from dataBreakpointInfo
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
        problem: `“${hitCondition ?? ''}” is not a hit count. Enter a number n, or >= n, to stop from the n-th hit on.`,
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
    const hint = hiddenNote(`${gate.when ?? ''} ${gate.log ?? ''}`);
    return { gates: [gate], ...(hint === undefined ? {} : { hint }) };
  }

  #set(origin: string, breakpoints: readonly NewBreakpoint[]): DebugProtocol.Breakpoint[] {
    const entries: Entry[] = [];
    const result = breakpoints.map((one): DebugProtocol.Breakpoint => {
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
        ...(one.note === undefined && one.hint === undefined ? {} : { message: one.note ?? one.hint }),
      };
    });
    this.#byOrigin.set(origin, entries);
    return result;
  }
}

type NewBreakpoint =
  | { readonly problem: string; readonly line?: number }
  | {
      readonly gates: readonly Breakpoint[];
      readonly stop?: number;
      readonly exception?: boolean;
      /** Why it may never match. */
      readonly note?: string;
      /** What is different in a running rollout. */
      readonly hint?: string;
      readonly line?: number;
    };

/** Returns what to know about a condition that uses what workers get only when scoring begins. */
function hiddenNote(condition: string): string | undefined {
  if (/\btask\s*\.\s*answer\b/.test(condition))
    return '`task.answer` is null until a running rollout is scored. In recordings it is the expected answer.';
  if (/\btask\s*\.\s*meta\b/.test(condition))
    return (
      'Until it is scored, a running rollout has only the columns in `task.meta` that prompts, its world, and ' +
      'breakpoints set before it started use.'
    );
  return undefined;
}

/** Parses the first hit that stops; undefined if the text is not a count. */
function hitsOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return 1;
  const match = /^(>=?|=)?\s*(\d+)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.max(1, Number(match[2]) + (match[1] === '>' ? 1 : 0));
}
