import path from 'node:path';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { Json } from '../../../common/json.ts';
import { duration } from '../../../common/units.ts';
import { readBatchWorld, tryInWorld } from '../../../rerun/tryInWorld.ts';
import type { TriedCall } from '../../../rerun/tryRoom.ts';
import { listTools, readToolFile, tryTool } from '../../../rerun/tryTool.ts';
import { changeText, placeText, errorText as traceErrorText, valueText } from '../../../trace/text/values.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { readJsonFile } from '../../jsonFile.ts';

/** Exit code 1 when an entry of an agent file could not be opened. */
export async function list(context: Context, { words: [file = ''] }: CommandLine): Promise<Outcome> {
  const { tools, problems } = await listTools(
    await readToolFile(file, context.cwd, context.env),
    context.env,
    context.signal,
  );
  if (context.json) context.printJson({ file, tools, problems });
  else {
    for (const { name, description, effect, timeoutSeconds, retry, parameters, output } of tools) {
      const how = [
        effect,
        ...(timeoutSeconds === undefined ? [] : [`${timeoutSeconds} s`]),
        ...(retry === undefined ? [] : [`${retry.times} retries`]),
      ].join(', ');
      context.print(
        [
          `${name} (${how})`,
          ...(description === '' ? [] : [`  ${description}`]),
          `  takes ${valueText(parameters)}`,
          ...(output === undefined ? [] : [`  gives ${valueText(output)}`]),
        ].join('\n'),
      );
    }
    for (const problem of problems) context.tell(`✗ ${problem}`);
  }
  return problems.length === 0 ? 0 : 1;
}

/** Exit code 1 when the tool failed. */
export async function tryIt(context: Context, given: CommandLine): Promise<Outcome> {
  const made = await call(context, given);
  if (context.json) {
    context.printJson(made);
    return made.error === undefined ? 0 : 1;
  }
  const { error, result, ms, retries = [], changes = [], files = [], world } = made;
  for (const change of changes) context.print(`± ${changeText(change)}`);
  context.print(
    error === undefined
      ? valueText(result ?? null, true)
      : [`✗ ${traceErrorText(error)}`, error.stack?.split('\n').slice(1).join('\n') ?? placeText(error) ?? '']
          .join('\n')
          .trimEnd(),
  );
  for (const { mime_type: media, content } of files)
    context.print(`+ ${media}, ${Math.floor((content.length * 3) / 4).toLocaleString('en')} bytes`);
  context.tell(
    `${duration(ms)}${retries.length === 0 ? '' : `, made again ${retries.length}×`}${world === undefined ? '' : `, in the world ${world.name} of task ${world.task}`}`,
  );
  if (made.needs_world === true)
    context.tell('Give --batch BATCH.yaml, of a batch whose world has the tool: it is then called in that world.');
  return error === undefined ? 0 : 1;
}

async function call(context: Context, given: CommandLine): Promise<TriedCall> {
  const [file = '', tool = ''] = given.words;
  const [batch, task] = [textOption(given, 'batch'), textOption(given, 'task')];
  const asked = { tool, arguments: argumentsOf(context, given) };
  const told = (text: string): void => context.tell(text.trimEnd());
  if (batch !== undefined)
    return tryInWorld(
      await readBatchWorld(batch, task, context.cwd, context.env),
      path.resolve(context.cwd, file),
      asked,
      told,
      context.signal,
    );
  if (task !== undefined)
    throw new StudioError('usage', '--task means nothing without --batch.', {
      hint: 'Give the batch file whose world is opened for that task.',
    });
  return tryTool(await readToolFile(file, context.cwd, context.env), asked, context.env, told, context.signal);
}

function argumentsOf(context: Context, given: CommandLine): Json {
  const [text, file] = [textOption(given, 'args'), textOption(given, 'arguments')];
  if (text !== undefined && file !== undefined) throw new StudioError('usage', 'Give --args or --arguments, not both.');
  if (file !== undefined) return readJsonFile(context.cwd, file);
  try {
    return JSON.parse(text ?? '{}') as Json;
  } catch (error) {
    throw new StudioError('usage', `--args is not JSON: ${errorText(error)}.`, {
      hint:
        'Write one object, for example --args \'{"text": "one two"}\', or put it into a file and name it with ' +
        '--arguments.',
      cause: error,
    });
  }
}
