/** State of a World page: what it has received, what is selected, and what it has requested. */
import { Emitter } from '../../../src/common/emitter.ts';
import type { ScenarioHealth } from '../../../src/common/worldHealth.ts';
import {
  type BlamedTask,
  type PageToWorld,
  type TableRows,
  type TaskVerifier,
  WORLD_TABS,
  type WorldDetails,
  type WorldTabId,
  type WorldTask,
  type WorldToPage,
  worldToPage,
} from '../../../src/protocol/worldPage.ts';
import { DriveSession } from './drive/driveSession.ts';

/** The environment of the page: an editor or a story. */
interface WorldHost {
  post(message: PageToWorld): void;
  /** Calls `listener` with each message, unparsed. */
  listen(listener: (data: unknown) => void): void;
}

export class WorldSession {
  readonly #host: WorldHost;
  readonly drive: DriveSession;
  readonly #changed = new Emitter<undefined>();
  readonly changed = this.#changed.event;
  details: WorldDetails | undefined;
  /** Why the world, or what was requested last, cannot be shown. */
  problem: { readonly text: string; readonly hint: string } | undefined;
  tab: WorldTabId = 'tasks';
  /** Index of the selected task. */
  task = 0;
  /** Name of the selected table. */
  table: string | undefined;
  tool = 0;
  /** Line to show in the code, from 1. */
  codeLine: number | undefined;
  code: string | undefined;
  /** Whether the lint runs. */
  isChecking = false;
  /** Tasks that a batch blames on the world. */
  blamed: { readonly batch: string; readonly tasks: readonly BlamedTask[] } | undefined;
  isBlaming = false;
  health: { readonly health: ScenarioHealth; readonly at: number } | undefined;
  readonly #rows = new Map<string, TableRows>();
  readonly #verifiers = new Map<number, readonly TaskVerifier[]>();
  /** Requests without an answer. */
  readonly #requested = new Set<string>();

  constructor(host: WorldHost) {
    this.#host = host;
    this.drive = new DriveSession((message) => host.post(message));
    host.listen((data) => {
      const message = worldToPage.safeParse(data);
      if (message.success) this.#handle(message.data);
      else console.error('invalid message of the extension:', message.error.issues[0]?.message);
    });
    host.post({ type: 'ready' });
  }

  select(change: Partial<Pick<WorldSession, 'tab' | 'task' | 'table' | 'tool' | 'codeLine'>>): void {
    Object.assign(this, change);
    this.#notify();
  }

  /** Shows the tab with this number, from 1. */
  selectTab(number: number): void {
    const tab = WORLD_TABS[number - 1];
    if (tab !== undefined) this.select({ tab });
  }

  /** Returns the rows of a table, and requests them if necessary. */
  rowsOf(table: string): TableRows | undefined {
    const rows = this.#rows.get(table);
    if (rows === undefined) this.#request(`rows ${table}`, { type: 'rows', table });
    return rows;
  }

  verifiersOf(task: number): readonly TaskVerifier[] | undefined {
    const verifiers = this.#verifiers.get(task);
    if (verifiers === undefined) this.#request(`verifiers ${task}`, { type: 'verifiers', task });
    return verifiers;
  }

  codeText(): string | undefined {
    if (this.code === undefined) this.#request('code', { type: 'code' });
    return this.code;
  }

  check(): void {
    if (this.isChecking) return;
    this.isChecking = true;
    this.problem = undefined;
    this.#host.post({ type: 'check' });
    this.#notify();
  }

  /** Sends a request of the person, who need not see any longer why the one before it failed. */
  /** Finds tasks of a batch whose failures all blame their world. */
  blame(batch: string): void {
    if (this.isBlaming) return;
    this.isBlaming = true;
    this.problem = undefined;
    this.#host.post({ type: 'blame', batch });
    this.#notify();
  }

  /** Sets a task aside, or stops doing so. */
  setAside({ id, task = id }: WorldTask, isSetAside: boolean): void {
    this.#host.post({ type: 'setAside', task, isSetAside });
  }

  post(message: PageToWorld): void {
    const hadProblem = this.problem !== undefined;
    this.problem = undefined;
    this.#host.post(message);
    if (hadProblem) this.#notify();
  }

  #request(key: string, message: PageToWorld): void {
    if (this.#requested.has(key)) return;
    this.#requested.add(key);
    this.#host.post(message);
  }

  #handle(message: WorldToPage): void {
    switch (message.type) {
      case 'world':
        this.#setDetails(message.details);
        if (message.tab !== undefined) this.tab = message.tab;
        // Findings are kept on disk until a file changes, so this is quick if none did.
        if (this.health !== undefined) this.check();
        break;
      case 'rows':
        this.#rows.set(message.rows.table, message.rows);
        break;
      case 'code':
        this.code = message.text;
        break;
      case 'verifiers':
        this.#verifiers.set(message.task, message.verifiers);
        break;
      case 'drive':
        this.drive.handle(message.message);
        return;
      case 'driveEnded':
        this.drive.end(message.text, message.needsPython);
        return;
      case 'health':
        this.health = message;
        this.isChecking = false;
        break;
      case 'blamed':
        this.blamed = message;
        this.isBlaming = false;
        break;
      case 'problem':
        this.problem = message;
        this.isChecking = false;
        this.isBlaming = false;
    }
    this.#notify();
  }

  /** Discards what was read from files that may have changed. */
  #setDetails(details: WorldDetails): void {
    this.details = details;
    this.problem = undefined;
    this.code = undefined;
    this.#rows.clear();
    this.#verifiers.clear();
    this.#requested.clear();
    if (!details.tables.some(({ name }) => name === this.table)) this.table = details.tables[0]?.name;
    this.task = Math.max(0, Math.min(this.task, details.tasks.length - 1));
    this.tool = Math.max(0, Math.min(this.tool, details.tools.length - 1));
  }

  #notify(): void {
    this.#changed.fire(undefined);
  }
}
