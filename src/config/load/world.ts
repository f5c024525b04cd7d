import { WORLD_KINDS, type WorldFile, worldFile } from '../schema/worldFile.ts';
import type { ParsedFile } from '../source/parse.ts';
import { MODULE_ENDINGS } from './agent.ts';
import { checkModel } from './model.ts';
import type { Mention, PromptText, Reading } from './reading.ts';

export interface LoadedWorld {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly file: WorldFile & { readonly module: string };
  readonly userPrompt?: PromptText;
}

export interface WorldParts {
  readonly parsed: ParsedFile;
  readonly name: string;
  /** Programs that the world starts. */
  readonly needs: readonly string[];
  readonly userPrompt: PromptText | undefined;
  /** Whether the world has a simulated user. */
  readonly hasUser: boolean;
  /** Undefined if the file has errors. */
  readonly world: LoadedWorld | undefined;
}

export async function readWorld(reading: Reading, path: string, by?: Mention): Promise<WorldParts | undefined> {
  const parsed = await reading.parse(path, by);
  if (parsed === undefined) return undefined;
  const kind = laterKind(parsed.value);
  if (kind !== undefined) {
    // The keys of such a world are unknown, so nothing else in the file can be checked.
    reading.report(parsed, ['kind'], {
      code: 'not_yet',
      message: `worlds of kind \`${kind}\` are not available yet`,
      hint: 'Use `kind: module` with a TypeScript or JavaScript module.',
    });
    return undefined;
  }
  const { value, complete } = reading.check(parsed, worldFile);
  if (value.perturb !== undefined && value.perturb.length > 0) {
    reading.report(
      parsed,
      ['perturb'],
      {
        code: 'not_yet',
        message: '`perturb` is not available yet',
        hint: 'Remove it. For now, inject faults in the functions of the module.',
      },
      'key',
    );
  }
  let located: string | undefined;
  if (value.module !== undefined) located = await reading.locate(parsed, ['module'], value.module, MODULE_ENDINGS);
  else if (!parsed.has(['module']))
    reading.report(parsed, [], {
      code: 'missing',
      message: '`module` is missing',
      hint: 'Add `module: library.ts`, where the module exports `open`.',
      fixes: [{ do: 'insert', path: [], key: 'module', value: 'library.ts' }],
    });
  let userPrompt: PromptText | undefined;
  if (value.user !== undefined) {
    checkModel(reading, parsed, ['user', 'model'], value.user.model);
    userPrompt = await reading.prompt(parsed, ['user', 'prompt'], value.user.prompt);
  }
  const { module } = value;
  const whole =
    complete !== undefined &&
    module !== undefined &&
    located !== undefined &&
    (complete.user === undefined || userPrompt !== undefined);
  const world = whole
    ? { path, parsed, file: { ...complete, module }, ...(userPrompt === undefined ? {} : { userPrompt }) }
    : undefined;
  return {
    parsed,
    name: value.name ?? '',
    needs: value.needs ?? [],
    userPrompt,
    hasUser: value.user !== undefined,
    world,
  };
}

function laterKind(value: unknown): string | undefined {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  return WORLD_KINDS.find((candidate) => candidate === kind && candidate !== 'module');
}
