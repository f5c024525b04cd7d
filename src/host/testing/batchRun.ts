/** One batch file's part of a test run: launched by the command line, followed to its end, told task by task. */
import * as vscode from 'vscode';
import type { Connection } from '../../client/connect.ts';
import { subscribe } from '../../client/subscribe.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Services } from '../services.ts';
import { failureMessage } from './failureMessage.ts';
import { attemptLine, isSettled, taskVerdict } from './verdict.ts';

export interface BatchRunInput {
  readonly run: vscode.TestRun;
  /** Items of the tasks, by id. */
  readonly items: ReadonlyMap<string, vscode.TestItem>;
  /** Launches, and gives the batch's id. */
  launch(signal: AbortSignal): Promise<string>;
  /** Told once it is known. */
  launched(batch: string): void;
}

export class BatchRun {
  readonly #services: Services;
  readonly #input: BatchRunInput;
  readonly #rows = new Map<string, Map<string, RolloutRow>>();
  readonly #started = new Set<string>();
  readonly #told = new Set<string>();
  readonly #telling: Promise<void>[] = [];
  #batch = '';
  #attempts = 1;

  constructor(services: Services, input: BatchRunInput) {
    this.#services = services;
    this.#input = input;
  }

  /** Ends when the batch has ended. Never throws: what went wrong is told at its tasks. */
  async follow(cancelled: AbortSignal): Promise<void> {
    const { run, items } = this.#input;
    for (const item of items.values()) run.enqueued(item);
    try {
      this.#batch = await this.#input.launch(cancelled);
      this.#input.launched(this.#batch);
      const connection = await this.#services.server.connection();
      const row = await connection.api.batch(this.#batch);
      this.#attempts = row.attempts;
      this.#say(`batch ${this.#batch}: ${plural(row.tasks, 'task')} x ${row.attempts}`);
      await this.#toEnd(connection, cancelled);
      for await (const each of connection.api.allRollouts(this.#batch)) this.#take(each);
      for (const [task, item] of items) this.#tell(connection, task, item);
      await Promise.all(this.#telling);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** Cancelling stops the batch; its end is waited for, so that what has run is told. */
  async #toEnd(connection: Connection, cancelled: AbortSignal): Promise<void> {
    const done = new AbortController();
    const cancel = (): void => {
      this.#say('stopping…');
      connection.api
        .commandBatch(this.#batch, { command: newId('c'), verb: 'cancel', by: 'vscode' })
        .catch((thrown: unknown) => {
          if (!StudioError.is(thrown, 'conflict'))
            this.#services.log.warn(`Testing view: ${this.#batch} could not be stopped: ${errorText(thrown)}`);
        });
    };
    if (cancelled.aborted) cancel();
    else cancelled.addEventListener('abort', cancel, { once: true });
    let ended = false;
    try {
      await subscribe(
        connection,
        { stream: this.#batch },
        {
          events: (events) => {
            for (const event of events) if (event.kind === 'batch.end') ended = true;
          },
          rows: (rows) => {
            for (const row of rows) this.#take(row);
            for (const task of new Set(rows.map((row) => row.task))) {
              const item = this.#input.items.get(task);
              if (item !== undefined && isSettled(this.#rowsOf(task), this.#attempts))
                this.#tell(connection, task, item);
            }
          },
          head: () => {
            if (ended) done.abort();
          },
          lost: (lost) => this.#say(lost ? 'Cannot reach the server. Trying again…' : 'Connected to the server again.'),
          notice: (text) => this.#say(text),
        },
        done.signal,
      );
    } finally {
      cancelled.removeEventListener('abort', cancel);
    }
  }

  #take(row: RolloutRow): void {
    const item = this.#input.items.get(row.task);
    if (item === undefined) return;
    let rows = this.#rows.get(row.task);
    if (rows === undefined) this.#rows.set(row.task, (rows = new Map<string, RolloutRow>()));
    const before = rows.get(row.rollout);
    rows.set(row.rollout, row);
    if (row.state !== 'queued' && !this.#started.has(row.task)) {
      this.#started.add(row.task);
      this.#input.run.started(item);
    }
    if (row.state === 'ended' && before?.state !== 'ended') this.#say(attemptLine(row), item);
  }

  #rowsOf(task: string): RolloutRow[] {
    return [...(this.#rows.get(task)?.values() ?? [])];
  }

  #tell(connection: Connection, task: string, item: vscode.TestItem): void {
    if (this.#told.has(task)) return;
    this.#told.add(task);
    this.#telling.push(this.#tellOne(connection, task, item));
  }

  async #tellOne(connection: Connection, task: string, item: vscode.TestItem): Promise<void> {
    const { run } = this.#input;
    const verdict = taskVerdict(this.#rowsOf(task), this.#attempts);
    this.#say(`${task}: ${verdict.text}`, item);
    switch (verdict.state) {
      case 'passed':
        run.passed(item, verdict.ms);
        break;
      case 'skipped':
        run.skipped(item);
        break;
      case 'failed':
        run.failed(item, await failureMessage(connection.api, this.#batch, verdict, item), verdict.ms);
        break;
      case 'errored':
        run.errored(item, await failureMessage(connection.api, this.#batch, verdict, item), verdict.ms);
        break;
    }
  }

  /** The batch could not be launched, or can no longer be followed. */
  #fail(thrown: unknown): void {
    const { run, items } = this.#input;
    const text = errorText(thrown);
    const cancelled = StudioError.is(thrown, 'cancelled');
    if (!cancelled) {
      this.#services.log.error(thrown instanceof Error ? thrown : text);
      this.#say(text);
    }
    for (const [task, item] of items) {
      if (this.#told.has(task)) continue;
      if (cancelled) run.skipped(item);
      else run.errored(item, new vscode.TestMessage(text));
    }
  }

  /** Into the run's output, which is a terminal: nothing of a trajectory may steer it. */
  #say(text: string, item?: vscode.TestItem): void {
    const plain = text
      .split(/\r\n|\r|\n/)
      .map((line) => line.replaceAll(/\p{Cc}/gu, ' '))
      .join('\r\n');
    this.#input.run.appendOutput(`${plain}\r\n`, undefined, item);
  }
}
