/** `targets.json` in the user's data folder: shared by the command line and the extension. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
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

  /** All targets by name, as they were added. */
  list(): ReadonlyMap<string, Target> {
    return new Map(Object.entries(this.#read()));
  }

  /** Throws StudioError `not_found`, naming those there are. */
  get(name: string): Target {
    const targets = this.list();
    const found = targets.get(name);
    if (found !== undefined) return found;
    const names = [LOCAL, ...targets.keys()].join(', ');
    throw new StudioError('not_found', `There is no target “${name}”.`, {
      hint: `There are: ${names}. rollout target add ${name} --context CONTEXT adds one.`,
    });
  }

  /** Gives whether it is new; one of that name is replaced. */
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
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
      throw new StudioError('storage', `${this.path} cannot be read: ${errorText(error)}.`, { cause: error });
    }
    const parsed = fileSchema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data.targets;
    throw new StudioError('config', `${this.path} is not a list of targets.`, {
      hint: 'Correct it, or remove it and add the targets again.',
      cause: parsed.error,
    });
  }

  /** As a whole: who reads it meanwhile sees the old or the new one. */
  #write(targets: Readonly<Record<string, Target>>): void {
    const draft = `${this.path}.${process.pid}`;
    try {
      mkdirSync(path.dirname(this.path), { recursive: true, mode: 0o700 });
      writeFileSync(draft, `${JSON.stringify({ targets }, null, 2)}\n`, { mode: 0o600 });
      renameSync(draft, this.path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw new StudioError('storage', `${this.path} cannot be written: ${errorText(error)}.`, { cause: error });
    }
  }
}
