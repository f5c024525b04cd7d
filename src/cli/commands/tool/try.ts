import path from 'node:path';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { Json } from '../../../common/json.ts';
import { duration } from '../../../common/units.ts';
import type { TriedCall } from '../../../rerun/tryEnvironment.ts';
import { readBatchWorld, tryInWorld } from '../../../rerun/tryInWorld.ts';
import { listTools, readToolFile, tryTool as runTool } from '../../../rerun/tryTool.ts';
import { changeText, placeText, errorText as traceErrorText, valueText } from '../../../trace/text/values.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { readJsonFile } from '../../jsonFile.ts';

/** Lists the tools of a file. Returns 1 if an entry of an agent file cannot be opened. */
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
          `  parameters: ${valueText(parameters)}`,
          ...(output === undefined ? [] : [`  output: ${valueText(output)}`]),
        ].join('\n'),
      );
    }
    for (const problem of problems) context.log(`✗ ${problem}`);
  }
  return problems.length === 0 ? 0 : 1;
}

/** Calls a tool once. Returns 1 if the call failed. */
export async function tryTool(context: Context, commandLine: CommandLine): Promise<Outcome> {
  const tried = await call(context, commandLine);
  if (context.json) {
    context.printJson(tried);
    return tried.error === undefined ? 0 : 1;
  }
  const { error, result, ms, retries = [], changes = [], files = [], world } = tried;
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
  const retryText = retries.length === 0 ? '' : `, retried ${retries.length}×`;
  const worldText = world === undefined ? '' : `, in world ${world.name} of task ${world.task}`;
  context.log(`${duration(ms)}${retryText}${worldText}`);
  if (tried.needs_world === true)
    context.log('To call this tool in a world, add --batch BATCH.yaml with a batch whose world has the tool.');
  return error === undefined ? 0 : 1;
}

async function call(context: Context, commandLine: CommandLine): Promise<TriedCall> {
  const [file = '', tool = ''] = commandLine.words;
  const [batch, task] = [textOption(commandLine, 'batch'), textOption(commandLine, 'task')];
  const request = { tool, arguments: argumentsOf(context, commandLine) };
  const onOutput = (text: string): void => context.log(text.trimEnd());
  if (batch !== undefined)
    return tryInWorld(
      await readBatchWorld(batch, task, context.cwd, context.env, async () => (await context.connect()).api),
      path.resolve(context.cwd, file),
      request,
      onOutput,
      context.signal,
    );
  if (task !== undefined)
    throw new StudioError('usage', '--task requires --batch.', {
      hint: 'Pass the batch file whose world to open for the task.',
    });
  return runTool(await readToolFile(file, context.cwd, context.env), request, context.env, onOutput, context.signal);
}

function argumentsOf(context: Context, commandLine: CommandLine): Json {
  const [text, file] = [textOption(commandLine, 'args'), textOption(commandLine, 'arguments')];
  if (text !== undefined && file !== undefined)
    throw new StudioError('usage', 'Use either --args or --arguments, not both.');
  if (file !== undefined) return readJsonFile(context.cwd, file);
  try {
    return JSON.parse(text ?? '{}') as Json;
  } catch (error) {
    throw new StudioError('usage', `--args is not JSON: ${errorText(error)}.`, {
      hint: 'Write one object, for example --args \'{"text": "one two"}\', or pass a file with --arguments.',
      cause: error,
    });
  }
}
