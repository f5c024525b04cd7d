/**
 * Maintains the problems of a workspace. After a change, rechecks only the affected files, open ones first. Checks one
 * file at a time, so that a keystroke waits for at most one file.
 */

import { sleep } from '../../common/abort.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { MODULE_ENDINGS } from '../../config/load/tools.ts';
import { type Problem, sortProblems } from '../../config/source/problem.ts';
import type { Workspace } from '../workspace.ts';
import { type CheckResult, checkFile } from './check.ts';

interface CheckerPorts {
  /** Replaces the published problems of a file. */
  publish(file: string, problems: readonly Problem[]): void;
  failed(file: string, error: unknown): void;
  /** Number of files left to check; 0 at the end. */
  remaining?(count: number): void;
}

/** Debounces keystrokes. */
const SETTLE_MS = 5;
/** Maximum time to check before processing messages. */
const SLICE_MS = 8;

/** Priority: the edited file, then open files, then referenced files, then batches. */
type Rank = 0 | 1 | 2 | 3;

export class Checker {
  readonly #workspace: Workspace;
  readonly #ports: CheckerPorts;
  readonly #results = new Map<string, CheckResult>();
  readonly #queue = new Map<string, Rank>();
  readonly #published = new Map<string, string>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(workspace: Workspace, ports: CheckerPorts) {
    this.#workspace = workspace;
    this.#ports = ports;
  }

  /** Rechecks all files: at the start, when folders changed, or when new facts arrived. */
  async checkAll(): Promise<void> {
    const files = await this.#workspace.configFiles();
    const existing = new Set(files);
    for (const removed of [...this.#results.keys()].filter((file) => !existing.has(file))) this.#remove(removed);
    for (const file of files) this.#mark(file);
    this.#run();
  }

  /** Rechecks after these files changed. `typed` means in the editor. */
  async changed(paths: readonly string[], options: { typed: boolean }): Promise<void> {
    const existing = new Set(await this.#workspace.configFiles());
    for (const path of paths) {
      if (options.typed) this.#published.delete(path); // the editor has moved the published problems
      if (existing.has(path)) this.#mark(path, options.typed ? 0 : undefined);
      else if (this.#results.has(path)) this.#remove(path);
      const isCode = MODULE_ENDINGS.some((extension) => path.endsWith(extension));
      for (const [file, { dependencies }] of this.#results) {
        if (
          dependencies.has(path) ||
          (isCode && [...dependencies].some((other) => MODULE_ENDINGS.some((extension) => other.endsWith(extension))))
        )
          this.#mark(file);
      }
    }
    this.#run();
  }

  /** Resolves when all files are checked. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Returns the currently known problems. */
  problemsOf(file: string): readonly Problem[] {
    const problemsInFile: Problem[] = [];
    for (const { problems } of this.#results.values())
      problemsInFile.push(...problems.filter((problem) => problem.file === file));
    return sortProblems(problemsInFile);
  }

  dispose(): void {
    this.#queue.clear();
    this.#stop.abort();
  }

  #mark(file: string, rank?: Rank): void {
    const defaultRank = this.#workspace.files.openText(file) !== undefined ? 1 : fileKind(file) === 'batch' ? 3 : 2;
    this.#queue.set(file, Math.min(rank ?? defaultRank, this.#queue.get(file) ?? 3) as Rank);
  }

  #run(): void {
    this.#running ??= this.#checkQueue().finally(() => {
      this.#running = undefined;
      if (this.#queue.size > 0 && !this.#stop.signal.aborted) this.#run();
    });
  }

  async #checkQueue(): Promise<void> {
    try {
      await sleep(SETTLE_MS, this.#stop.signal);
      let sliceStart = performance.now();
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        this.#queue.delete(next);
        await this.#check(next);
        if (performance.now() - sliceStart < SLICE_MS) continue;
        this.#ports.remaining?.(this.#queue.size);
        await sleep(0, this.#stop.signal);
        sliceStart = performance.now();
      }
      this.#ports.remaining?.(0);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  #next(): string | undefined {
    let best: string | undefined;
    let bestRank = Infinity;
    for (const [file, rank] of this.#queue) {
      if (rank >= bestRank) continue;
      [best, bestRank] = [file, rank];
      if (rank === 0) break;
    }
    return best;
  }

  async #check(file: string): Promise<void> {
    let result: CheckResult;
    try {
      result = await checkFile(this.#workspace, file);
    } catch (error) {
      this.#ports.failed(file, error);
      return;
    }
    // The file changed during the check, so the result is outdated and the file is queued again.
    if (this.#queue.has(file) || this.#stop.signal.aborted) return;
    const previous = this.#results.get(file);
    this.#results.set(file, {
      problems: result.problems.filter((problem) => problem.file === file || !this.#isReported(problem)),
      dependencies: result.dependencies,
    });
    this.#publish(new Set([file, ...filesOf(previous), ...filesOf(result)]));
  }

  /** Returns whether the check of the problem's own file reports it. */
  #isReported(problem: Problem): boolean {
    return (
      this.#results
        .get(problem.file)
        ?.problems.some(
          (own) => own.line === problem.line && own.column === problem.column && own.message === problem.message,
        ) === true
    );
  }

  #remove(file: string): void {
    const previous = this.#results.get(file);
    this.#results.delete(file);
    this.#queue.delete(file);
    for (const [other, { dependencies }] of this.#results) if (dependencies.has(file)) this.#mark(other);
    this.#publish(new Set([file, ...filesOf(previous)]));
  }

  #publish(files: ReadonlySet<string>): void {
    for (const file of files) {
      const problems = this.problemsOf(file);
      const text = JSON.stringify(problems);
      const previous = this.#published.get(file);
      // Do not publish an empty list for files that are not open and had no problems.
      const isUnchanged =
        previous === undefined
          ? problems.length === 0 && this.#workspace.files.openText(file) === undefined
          : previous === text;
      if (isUnchanged) continue;
      this.#published.set(file, text);
      this.#ports.publish(file, problems);
    }
  }
}

function filesOf(result: CheckResult | undefined): string[] {
  return (result?.problems ?? []).map(({ file }) => file);
}
