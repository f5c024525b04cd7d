import { BatchPodReader } from '../../client/batchPods.ts';
import { batchId, parseReference } from '../../client/reference.ts';
import { podsText } from '../../client/text/pods.ts';
import { StudioError } from '../../common/errors.ts';
import { LOG_TAIL } from '../../protocol/pods.ts';
import { harmlessBlock } from '../../trace/text/terminal.ts';
import { type Command, type CommandLine, flag, numberOption, oneWord, textOption } from '../command.ts';
import type { Context } from '../context.ts';

export const pods: Command = {
  name: 'pods',
  usage: 'BATCH [--logs POD [--container NAME] [--follow] [--tail N]]',
  text: [
    'Prints the pods of a batch (locally: its worker processes), why they wait, and what was recorded of those that',
    'are gone; or the log of one, without the values of `${env:…}`.',
  ].join('\n'),
  options: {
    logs: { type: 'string', value: 'POD', text: 'print the log of this pod or worker process' },
    container: { type: 'string', value: 'NAME', text: 'its container: worker, tools, or a sidecar (worker)' },
    follow: { type: 'boolean', short: 'f', text: 'go on until the container ends; --json prints JSON Lines' },
    tail: { type: 'string', value: 'N', text: `print only the last lines (${LOG_TAIL.usual})` },
  },
  async run(context, commandLine) {
    const reference = parseReference(oneWord(pods, commandLine));
    if (reference.kind !== 'batch') throw new StudioError('usage', `usage: rollout pods ${pods.usage}`);
    const pod = textOption(commandLine, 'logs');
    const alone = ['container', 'follow', 'tail'].find((name) => commandLine.options[name] !== undefined);
    if (pod === undefined && alone !== undefined) throw new StudioError('usage', `--${alone} needs --logs POD.`);
    const { api } = await context.connect();
    const batch = await batchId(api, reference.batch, context.signal);
    if (pod !== undefined) {
      await printLog(context, commandLine, api.podLog(batch, pod, logOptions(commandLine), context.signal));
      return 0;
    }
    const found = await new BatchPodReader(() => Promise.resolve(api), batch).read(context.signal);
    if (context.json) context.printJson({ batch, ...found });
    else context.print(podsText(found, Date.now()));
    return 0;
  },
};

function logOptions(commandLine: CommandLine) {
  return {
    container: textOption(commandLine, 'container'),
    tail: numberOption(commandLine, 'tail', 0),
    follow: flag(commandLine, 'follow'),
  };
}

async function printLog(context: Context, commandLine: CommandLine, log: AsyncIterable<string>): Promise<void> {
  const lines: string[] = [];
  const follow = flag(commandLine, 'follow');
  const print = (line: string): void => {
    if (!context.json) context.print(harmlessBlock(line));
    else if (follow) context.printJson({ line });
    else lines.push(line);
  };
  let unfinished = '';
  for await (const piece of log) {
    const parts = (unfinished + piece).split('\n');
    unfinished = parts.pop() ?? '';
    for (const line of parts) print(line);
  }
  if (unfinished !== '') print(unfinished);
  if (context.json && !follow) context.printJson({ lines });
}
