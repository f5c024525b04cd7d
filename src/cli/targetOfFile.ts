/** The target that a batch file names. */
import { parse } from 'yaml';
import { z } from 'zod';
import { diskFiles } from '../client/disk.ts';
import { LOCAL } from '../client/targets/local.ts';
import { StudioError } from '../common/errors.ts';
import type { Context } from './context.ts';

const withTarget = z.looseObject({ target: z.string().optional() });

/** Returns the target in the batch file. Ignores other problems, which are reported when the whole file is read. */
export async function targetOfFile(
  context: Pick<Context, 'cwd' | 'hasExplicitStore'>,
  file: string,
  command: string,
): Promise<string> {
  const text = await diskFiles(context.cwd)
    .readText(file)
    .catch((error: unknown) => {
      if (StudioError.is(error) || error instanceof Error) return '';
      throw error;
    });
  const target = withTarget.safeParse(yamlOf(text)).data?.target ?? LOCAL;
  if (target === LOCAL || !context.hasExplicitStore) return target;
  throw new StudioError('usage', `${file} runs on the target ${target}, but a local store is selected.`, {
    hint: `Choose one: rollout ${command} ${file} --target ${target}, or --target ${LOCAL}.`,
  });
}

function yamlOf(text: string): unknown {
  try {
    return parse(text, { logLevel: 'silent' });
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}
