/** Runs commands that the product prints exactly as they are printed: in a shell, with the programs by their names. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Incident } from '../../../src/trace/incidents/incident.ts';
import { root } from '../../support/cli.ts';
import type { ClusterBench } from './clusterBench.ts';

/** Commands in printed texts, to their end: of the sentence, or of the text. */
const COMMANDS = /\b(?:rollout (?:cluster|resume)|kubectl) .*?(?=\.?$|\.\s|\s*[;,(])/gm;

/** Returns the commands in printed texts, each once. */
export function commandsOf(...texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.flatMap((each) => each?.match(COMMANDS) ?? []))];
}

/** Returns the incident that a report prints about something. */
export async function incident({ workspace }: ClusterBench, batch: string, like: RegExp): Promise<string> {
  const { incidents } = await workspace.json<{ incidents: Incident[] }>('report', batch);
  const found = incidents.find((each) => like.test(each.text));
  assert.ok(found !== undefined, JSON.stringify(incidents));
  return found.text;
}

export class PrintedCommands {
  readonly #bench: ClusterBench;
  readonly #bin: string;

  constructor(bench: ClusterBench) {
    this.#bench = bench;
    this.#bin = path.join(bench.workspace.path(), '..', 'bin');
    mkdirSync(this.#bin);
    this.#program('rollout', `"${process.execPath}" --disable-warning=ExperimentalWarning "${root}/dist/cli.mjs"`);
    if (bench.site.kit !== undefined) this.#program('kubectl', bench.site.kit.kubectl);
  }

  /** Runs all commands, and asserts that there are some and that they succeed. Returns what they printed. */
  async runAll(commands: readonly string[]): Promise<string> {
    assert.ok(commands.length > 0, 'a command was printed');
    const outputs: string[] = [];
    for (const command of commands) {
      const { code, output } = await this.#run(command);
      assert.equal(code, 0, output);
      outputs.push(output);
    }
    return outputs.join('');
  }

  async #run(command: string): Promise<{ readonly code: number | null; readonly output: string }> {
    const env = {
      ...process.env,
      ...this.#bench.home,
      PATH: `${this.#bin}${path.delimiter}${process.env['PATH'] ?? ''}`,
    };
    const cwd = this.#bench.workspace.path();
    const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output: `$ ${command}\n${await stdout}${await stderr}` };
  }

  #program(name: string, command: string): void {
    const file = path.join(this.#bin, name);
    writeFileSync(file, `#!/bin/sh\nexec ${command} "$@"\n`);
    chmodSync(file, 0o755);
  }
}
