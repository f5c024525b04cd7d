import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { verbArgs } from '../protocol/commands.ts';

/** A command of a person or the server. `args`: as in `verbArgs`. */
export interface RolloutOrder {
  /** The ID of the command, which is written into the resulting event. */
  readonly command: string;
  readonly verb: string;
  readonly args: Json | undefined;
  readonly by: string;
}

/** Returns the validated arguments of a command. Throws StudioError `usage`. */
export function argsOf<V extends keyof typeof verbArgs>(
  verb: V,
  args: Json | undefined,
): ReturnType<(typeof verbArgs)[V]['parse']> {
  const parsed = verbArgs[verb].safeParse(args ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new StudioError(
      'usage',
      `Invalid arguments for ${verb}: ${issue?.message ?? 'unexpected value'} at ` +
        `/${(issue?.path ?? []).join('/')}.`,
    );
  }
  return parsed.data as ReturnType<(typeof verbArgs)[V]['parse']>; // the output of the schema itself
}
