/** Reads and writes `targets.json` in the user's data folder, which the CLI and the extension share. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { createFolder } from '../../common/createFolder.ts';
import { errorText, StudioError, systemCodeOf } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { dataFolder } from '../folders.ts';
import { LOCAL } from './local.ts';
import { checkTargetName, type Target, target as targetSchema } from './target.ts';

const fileSchema = z.object({ targets: z.record(z.string(), targetSchema) });

export class TargetFile {
  readonly path: string;

  constructor(folder: string = dataFolder()) {
    this.path = path.join(folder, 'targets.json');
  }

  /** Returns all targets by name, in the order they were added. */
  list(): ReadonlyMap<string, Target> {
    return new Map(Object.entries(this.#read()));
  }

  /** Throws StudioError `not_found` with a list of the targets. */
  get(name: string): Target {
    const targets = this.list();
    const match = targets.get(name);
    if (match !== undefined) return match;
    const names = [LOCAL, ...targets.keys()].join(', ');
    throw new StudioError('not_found', `Unknown target “${name}”.`, {
      hint: `Available targets: ${names}. Add one with rollout target add ${name} --context CONTEXT.`,
    });
  }

  /** Adds or replaces a target. Returns whether it is new. */
  add(name: string, target: Target): boolean {
    checkTargetName(name);
    const targets = this.#read();
    const isNew = !Object.hasOwn(targets, name);
    this.#write({ ...targets, [name]: target });
    return isNew;
  }

  /** Throws StudioError `not_found`. */
  remove(name: string): void {
    this.get(name);
    this.#write(Object.fromEntries(Object.entries(this.#read()).filter(([other]) => other !== name)));
  }

  #read(): Readonly<Record<string, Target>> {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return {};
      throw new StudioError('storage', `Cannot read ${this.path}: ${errorText(error)}.`, { cause: error });
    }
    const parsed = fileSchema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data.targets;
    throw new StudioError('config', `${this.path} is not a valid list of targets.`, {
      hint: 'Fix it, or delete it and add the targets again.',
      cause: parsed.error,
    });
  }

  /** Replaces the file atomically, so that readers see either the old or the new one. */
  #write(targets: Readonly<Record<string, Target>>): void {
    const draft = `${this.path}.${process.pid}`;
    try {
      createFolder(path.dirname(this.path), path, (each) => mkdirSync(each, { mode: 0o700 }));
      writeFileSync(draft, `${JSON.stringify({ targets }, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, this.path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw new StudioError('storage', `Cannot write ${this.path}: ${errorText(error)}.`, { cause: error });
    }
  }
}
