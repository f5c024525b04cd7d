/** Runs one batch file in a test run: launches it through the CLI, follows it, and reports each task. */
import * as vscode from 'vscode';
import type { Connection } from '../../client/connect.ts';
import { subscribe } from '../../client/subscribe.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Services } from '../services.ts';
import { failureMessage } from './failureMessage.ts';
import { outputText } from './outputText.ts';
import { attemptLine, isSettled, taskVerdict } from './verdict.ts';

interface BatchRunInput {
  readonly run: vscode.TestRun;
  /** Test items by task ID. */
  readonly items: ReadonlyMap<string, vscode.TestItem>;
  /** Launches the batch and returns its ID. */
  launch(signal: AbortSignal): Promise<string>;
  /** Called with the batch's ID. */
  onLaunched(batch: string): void;
}

export class BatchRun {
  readonly #services: Services;
  readonly #input: BatchRunInput;
  readonly #rows = new Map<string, Map<string, RolloutRow>>();
  readonly #started = new Set<string>();
  readonly #reported = new Set<string>();
  readonly #reports: Promise<void>[] = [];
  #batch = '';
  #attempts = 1;

  constructor(services: Services, input: BatchRunInput) {
    this.#services = services;
    this.#input = input;
  }

  /** Resolves when the batch has ended. Never throws; failures are reported on the tasks. */
  async follow(cancelled: AbortSignal): Promise<void> {
    const { run, items } = this.#input;
    for (const item of items.values()) run.enqueued(item);
    try {
      this.#batch = await this.#input.launch(cancelled);
      this.#input.onLaunched(this.#batch);
      const connection = await this.#services.server.connection();
      const row = await connection.api.batch(this.#batch);
      this.#attempts = row.attempts;
      this.#print(`batch ${this.#batch}: ${plural(row.tasks, 'task')} x ${row.attempts}`);
      await this.#followToEnd(connection, cancelled);
      for await (const each of connection.api.allRollouts(this.#batch)) this.#addRow(each);
      for (const [task, item] of items) this.#report(connection, task, item);
      await Promise.all(this.#reports);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Cancels the batch, but waits for its end so that completed tasks are reported. */
  async #followToEnd(connection: Connection, cancelled: AbortSignal): Promise<void> {
    const done = new AbortController();
    const cancel = (): void => {
      this.#print('stopping…');
      connection.api
        .commandBatch(this.#batch, { command: newId('c'), verb: 'cancel', by: 'vscode' })
        .catch((error: unknown) => {
          if (!StudioError.is(error, 'conflict'))
            this.#services.log.warn(`Testing view: cannot stop ${this.#batch}: ${errorText(error)}`);
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
            for (const row of rows) this.#addRow(row);
            for (const task of new Set(rows.map((row) => row.task))) {
              const item = this.#input.items.get(task);
              if (item !== undefined && isSettled(this.#rowsOf(task), this.#attempts))
                this.#report(connection, task, item);
            }
          },
          head: () => {
            if (ended) done.abort();
          },
          lost: (lost) => this.#print(lost ? 'Lost the connection to the server. Reconnecting…' : 'Reconnected.'),
          notice: (text) => this.#print(text),
        },
        done.signal,
      );
    } finally {
      cancelled.removeEventListener('abort', cancel);
    }
  }

  #addRow(row: RolloutRow): void {
    const item = this.#input.items.get(row.task);
    if (item === undefined) return;
    let rows = this.#rows.get(row.task);
    if (rows === undefined) this.#rows.set(row.task, (rows = new Map<string, RolloutRow>()));
    const previous = rows.get(row.rollout);
    rows.set(row.rollout, row);
    if (row.state !== 'queued' && !this.#started.has(row.task)) {
      this.#started.add(row.task);
      this.#input.run.started(item);
    }
    if (row.state === 'ended' && previous?.state !== 'ended') this.#print(attemptLine(row), item);
  }

  #rowsOf(task: string): RolloutRow[] {
    return [...(this.#rows.get(task)?.values() ?? [])];
  }

  #report(connection: Connection, task: string, item: vscode.TestItem): void {
    if (this.#reported.has(task)) return;
    this.#reported.add(task);
    this.#reports.push(this.#reportTask(connection, task, item));
  }

  async #reportTask(connection: Connection, task: string, item: vscode.TestItem): Promise<void> {
    const { run } = this.#input;
    const verdict = taskVerdict(this.#rowsOf(task), this.#attempts);
    this.#print(`${task}: ${verdict.text}`, item);
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

  /** Reports that the batch could not be launched or followed. */
  #fail(error: unknown): void {
    const { run, items } = this.#input;
    const text = errorText(error);
    const cancelled = StudioError.is(error, 'cancelled');
    if (!cancelled) {
      this.#services.log.error(error instanceof Error ? error : text);
      this.#print(text);
    }
    for (const [task, item] of items) {
      if (this.#reported.has(task)) continue;
      if (cancelled) run.skipped(item);
      else run.errored(item, new vscode.TestMessage(text));
    }
  }

  /** Writes to the run's output. */
  #print(text: string, item?: vscode.TestItem): void {
    this.#input.run.appendOutput(outputText(text), undefined, item);
  }
}
