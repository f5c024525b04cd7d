/** The recorded calls that a world answers from. A worker reads them once, and all its sessions share them. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { canonicalJson, type Json } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import {
  type RecordedAnswer,
  type RecordedCall,
  type RecordedIndex,
  recordedAttempt,
  recordedIndex,
} from '../../trace/recordedCalls/schema.ts';
import { datasetId, type TaskRecord } from '../../trace/task.ts';
import { ParsedBlobs } from '../parsedBlobs.ts';

/** A recorded call, with what it is compared by. */
export interface Entry {
  readonly seq: number;
  readonly name: string;
  /** Equal for the same tool with the same arguments. */
  readonly key: string;
  readonly isPure: boolean;
  /** Equal for the same response. Undefined if the answer was lost. */
  readonly seen: string | undefined;
  readonly answer: RecordedAnswer | undefined;
  /** The blob that has the answer instead. */
  readonly blob: string | undefined;
}

export interface Attempt {
  readonly rollout: string;
  readonly entries: readonly Entry[];
  /** The states that its calls led to, in order. */
  readonly states: readonly State[];
  /** Its calls by tool, and by tool and arguments, in order. */
  readonly byName: ReadonlyMap<string, readonly Entry[]>;
  readonly byKey: ReadonlyMap<string, readonly Entry[]>;
}

/** A state of the recorded world. */
interface State {
  /** Calls that changed nothing, by key. The same one may have been answered differently each time. */
  readonly reads: ReadonlyMap<string, readonly Entry[]>;
  /** The call that led to the next state. */
  readonly next: Entry | undefined;
}

/** Texts longer than this are compared by their hash. */
const LONG = 128;

/** Returns the key of a call. Two calls have the same one if their canonical JSON is the same. */
export function keyOf(name: string, args: Json): string {
  return `${name} ${comparable(args)}`;
}

/** Returns a text that is equal for the same value. */
export function comparable(value: Json): string {
  const text = canonicalJson(value);
  return text.length > LONG ? createHash('sha256').update(text).digest('hex') : text;
}

export class RecordedCalls {
  readonly index: RecordedIndex;
  readonly #bytes: Uint8Array;
  /** Of tasks whose sessions are open. */
  readonly #opened = new Map<string, WeakRef<readonly Attempt[]>>();
  readonly #opening = new Map<string, Promise<readonly Attempt[]>>();

  /** Throws ClassedError `world_error` if the bytes are no recorded calls. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    const end = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
    const index = recordedIndex.safeParse(parsed(bytes.subarray(bytes.lastIndexOf(NEWLINE, end - 1) + 1, end)));
    if (!index.success) throw unreadable(index.error.issues[0]?.message);
    this.index = index.data;
  }

  /**
   * Returns the attempts that answer for a task: those of the task with the same ID; if there are none, those of tasks
   * with the same question, because imported tasks have other IDs; otherwise all.
   */
  async attemptsFor(task: Pick<TaskRecord, 'id' | 'of' | 'question'>): Promise<readonly Attempt[]> {
    const { attempts } = this.index;
    const own = attempts.filter((attempt) => attempt.task === datasetId(task));
    const same = own.length > 0 ? own : attempts.filter((attempt) => attempt.question === task.question);
    const used = same.length > 0 ? same : attempts;
    const name = used === attempts ? '' : `${used === own ? 'id' : 'question'} ${used[0]?.task ?? ''}`;
    const opened = this.#opened.get(name)?.deref();
    if (opened !== undefined) return opened;
    const opening = this.#opening.get(name) ?? this.#read(used);
    this.#opening.set(name, opening);
    try {
      const read = await opening;
      this.#opened.set(name, new WeakRef(read));
      return read;
    } finally {
      this.#opening.delete(name);
    }
  }

  /** Lets the other rollouts of the worker go on between two attempts. */
  async #read(attempts: RecordedIndex['attempts']): Promise<readonly Attempt[]> {
    const read: Attempt[] = [];
    for (const { offset, bytes } of attempts) {
      read.push(attemptOf(this.#bytes.subarray(offset, offset + bytes)));
      await setImmediate();
    }
    return read;
  }
}

const NEWLINE = 0x0a;

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError) throw unreadable(error.message);
    throw error;
  }
}

function unreadable(why = ''): ClassedError {
  return new ClassedError('world_error', `The recorded calls cannot be read: ${why}.`);
}

function attemptOf(line: Uint8Array): Attempt {
  const attempt = recordedAttempt.safeParse(parsed(line));
  if (!attempt.success) throw unreadable(attempt.error.issues[0]?.message);
  const entries = attempt.data.calls.map(entryOf);
  return {
    rollout: attempt.data.rollout,
    entries,
    states: statesOf(entries),
    byName: Map.groupBy(entries, ({ name }) => name),
    byKey: Map.groupBy(entries, ({ key }) => key),
  };
}

function entryOf({ seq, name, arguments: args, pure, answer, long }: RecordedCall): Entry {
  return {
    seq,
    name,
    key: keyOf(name, args),
    isPure: pure === true,
    seen: answer === undefined ? long?.response : comparable(answer.response),
    answer,
    blob: long?.blob,
  };
}

function statesOf(entries: readonly Entry[]): State[] {
  const states: State[] = [];
  let reads: Entry[] = [];
  const end = (next: Entry | undefined): void => {
    states.push({ reads: Map.groupBy(reads, ({ key }) => key), next });
    reads = [];
  };
  for (const entry of entries) {
    if (entry.isPure) reads.push(entry);
    else end(entry);
  }
  end(undefined);
  return states;
}

/** The files with recorded calls that a worker has read. */
export class RecordedCallsCache extends ParsedBlobs<RecordedCalls> {
  protected override parse(bytes: Uint8Array): RecordedCalls {
    return new RecordedCalls(bytes);
  }
}
