/**
 * Names of the published files of Agent World Model. Without schemas, because VS Code reads it when the extension
 * starts.
 */

/** The files by part. A folder may lack all but those with the scenarios and the tasks. */
export const AWM_FILES = {
  scenario: 'gen_scenario.jsonl',
  tasks: 'gen_tasks.jsonl',
  schema: 'gen_db.jsonl',
  rows: 'gen_sample.jsonl',
  spec: 'gen_spec.jsonl',
  code: 'gen_envs.jsonl',
  codeVerifier: 'gen_verifier.pure_code.jsonl',
  sqlVerifier: 'gen_verifier.jsonl',
} as const;
export type AwmPart = keyof typeof AWM_FILES;
export const AWM_PARTS = Object.keys(AWM_FILES) as AwmPart[];

/** Whether a part is one of a task. */
export function isVerifier(part: AwmPart): boolean {
  return part === 'codeVerifier' || part === 'sqlVerifier';
}

/** Parts whose code may be in a Python file instead, so that it can be edited. */
export type LoosePart = Extract<AwmPart, 'code' | 'codeVerifier' | 'sqlVerifier'>;

/** Returns the path of such a file, relative to the folder: `gen_envs/KEY.py`, `gen_verifier/KEY.0.py`. */
export function looseFile(part: LoosePart, key: string, task?: number): string {
  return `${AWM_FILES[part].replace(/\.jsonl$/, '')}/${key}${task === undefined ? '' : `.${task}`}.py`;
}

/** What such a file replaces. */
export interface LooseFile {
  readonly part: LoosePart;
  readonly key: string;
  /** Of a verifier. */
  readonly task?: number;
  /** Path of the folder with the published files. */
  readonly folder: string;
}

const LOOSE_PARTS: readonly LoosePart[] = ['code', 'codeVerifier', 'sqlVerifier'];

/** Whether a part may be in a file of its own. */
export function isLoosePart(part: string): part is LoosePart {
  return LOOSE_PARTS.some((each) => each === part);
}

const LOOSE = /[\\/](gen_\w+(?:\.\w+)?)[\\/](\w+?)(?:\.(\d+))?\.py$/;

/** Returns what a file replaces by its path; undefined for other paths. */
export function looseFileAt(path: string): LooseFile | undefined {
  const [ending = '', name, key, index] = LOOSE.exec(path) ?? [];
  const part = LOOSE_PARTS.find((each) => AWM_FILES[each] === `${name}.jsonl`);
  if (part === undefined || key === undefined || (index === undefined) === isVerifier(part)) return undefined;
  return { part, key, ...(index === undefined ? {} : { task: Number(index) }), folder: path.slice(0, -ending.length) };
}
