/**
 * Keeps the problems of a whole workspace: a change checks again only the files that looked at what changed, those in
 * the editor first. One file is checked at a time, so a keystroke waits for one file at most.
 */

import { sleep } from '../../common/abort.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { MODULE_ENDINGS } from '../../config/load/agent.ts';
import { type Problem, sortProblems } from '../../config/source/problem.ts';
import type { Workspace } from '../workspace.ts';
import { type CheckResult, checkFile } from './check.ts';

export interface CheckerPorts {
  /** The problems of a file, in place of those told before. */
  publish(file: string, problems: readonly Problem[]): void;
  failed(file: string, thrown: unknown): void;
  /** How many files are left to check; 0 at the end. */
  left?(count: number): void;
}

/** Keystrokes that follow each other faster are one. */
const SETTLE_MS = 5;
/** So long the checks go on without letting a message in. */
const SLICE_MS = 8;

/** Which is checked first: the file one types in, then what is open, then what others name, then batches. */
type Rank = 0 | 1 | 2 | 3;

export class Checker {
  readonly #workspace: Workspace;
  readonly #ports: CheckerPorts;
  readonly #results = new Map<string, CheckResult>();
  readonly #dirty = new Map<string, Rank>();
  readonly #told = new Map<string, string>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(workspace: Workspace, ports: CheckerPorts) {
    this.#workspace = workspace;
    this.#ports = ports;
  }

  /** All files anew: at the start, with other folders, or when facts from outside came. */
  async checkAll(): Promise<void> {
    const files = await this.#workspace.configFiles();
    const there = new Set(files);
    for (const gone of [...this.#results.keys()].filter((file) => !there.has(file))) this.#drop(gone);
    for (const file of files) this.#mark(file);
    this.#run();
  }

  /** Texts of these files are other ones; `typed`: in the editor. */
  async changed(paths: readonly string[], options: { typed: boolean }): Promise<void> {
    const there = new Set(await this.#workspace.configFiles());
    for (const path of paths) {
      if (options.typed) this.#told.delete(path); // its editor has moved what was marked
      if (there.has(path)) this.#mark(path, options.typed ? 0 : undefined);
      else if (this.#results.has(path)) this.#drop(path);
      const isCode = MODULE_ENDINGS.some((ending) => path.endsWith(ending));
      for (const [file, { looked }] of this.#results) {
        if (
          looked.has(path) ||
          (isCode && [...looked].some((other) => MODULE_ENDINGS.some((ending) => other.endsWith(ending))))
        )
          this.#mark(file);
      }
    }
    this.#run();
  }

  /** Ends when nothing is left to check. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** As known by now. */
  problemsOf(file: string): readonly Problem[] {
    const found: Problem[] = [];
    for (const { problems } of this.#results.values())
      found.push(...problems.filter((problem) => problem.file === file));
    return sortProblems(found);
  }

  dispose(): void {
    this.#dirty.clear();
    this.#stop.abort();
  }

  #mark(file: string, rank?: Rank): void {
    const usual = this.#workspace.files.openText(file) !== undefined ? 1 : fileKind(file) === 'batch' ? 3 : 2;
    this.#dirty.set(file, Math.min(rank ?? usual, this.#dirty.get(file) ?? 3) as Rank);
  }

  #run(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#dirty.size > 0 && !this.#stop.signal.aborted) this.#run();
    });
  }

  async #work(): Promise<void> {
    try {
      await sleep(SETTLE_MS, this.#stop.signal);
      let began = performance.now();
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        this.#dirty.delete(next);
        await this.#check(next);
        if (performance.now() - began < SLICE_MS) continue;
        this.#ports.left?.(this.#dirty.size);
        await sleep(0, this.#stop.signal);
        began = performance.now();
      }
      this.#ports.left?.(0);
    } catch (thrown) {
      if (!this.#stop.signal.aborted) throw thrown;
    }
  }

  #next(): string | undefined {
    let best: string | undefined;
    let bestRank = Infinity;
    for (const [file, rank] of this.#dirty) {
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
    } catch (thrown) {
      this.#ports.failed(file, thrown);
      return;
    }
    // It changed meanwhile: its turn comes again at once, and what was found is of a text that is no more.
    if (this.#dirty.has(file) || this.#stop.signal.aborted) return;
    const before = this.#results.get(file);
    this.#results.set(file, {
      problems: result.problems.filter((problem) => problem.file === file || !this.#knows(problem)),
      looked: result.looked,
    });
    this.#publish(new Set([file, ...filesOf(before), ...filesOf(result)]));
  }

  /** Whether the check of its own file tells it. */
  #knows(problem: Problem): boolean {
    return (
      this.#results
        .get(problem.file)
        ?.problems.some(
          (own) => own.line === problem.line && own.column === problem.column && own.message === problem.message,
        ) === true
    );
  }

  #drop(file: string): void {
    const before = this.#results.get(file);
    this.#results.delete(file);
    this.#dirty.delete(file);
    for (const [other, { looked }] of this.#results) if (looked.has(file)) this.#mark(other);
    this.#publish(new Set([file, ...filesOf(before)]));
  }

  #publish(files: ReadonlySet<string>): void {
    for (const file of files) {
      const problems = this.problemsOf(file);
      const text = JSON.stringify(problems);
      const told = this.#told.get(file);
      // Of a file that is not open nobody waits to hear that it is right.
      const silent =
        told === undefined
          ? problems.length === 0 && this.#workspace.files.openText(file) === undefined
          : told === text;
      if (silent) continue;
      this.#told.set(file, text);
      this.#ports.publish(file, problems);
    }
  }
}

function filesOf(result: CheckResult | undefined): string[] {
  return (result?.problems ?? []).map(({ file }) => file);
}
