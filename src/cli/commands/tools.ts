import { resolveBatch } from '../../client/reference.ts';
import { table } from '../../client/text/table.ts';
import { BatchCalls, READ_LIMITS } from '../../client/toolCalls/batchCalls.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { accuracyText } from '../../trace/prediction/text.ts';
import { callLine, shareText } from '../../trace/toolCalls/text.ts';
import { type Command, flag, numberOption, oneWord, textOption } from '../command.ts';

const CALLS = 20;

export const tools: Command = {
  name: 'tools',
  usage: 'BATCH [--calls TOOL [--errors] [--limit N]] [--all]',
  text: 'Prints calls, errors, times, and usage of each tool in a batch, or lists the calls of one tool, newest first.',
  options: {
    calls: { type: 'string', value: 'TOOL', text: 'list the calls of this tool' },
    errors: { type: 'boolean', text: 'with --calls: list only failed calls' },
    limit: { type: 'string', value: 'N', text: `with --calls: number of calls to list (${CALLS})` },
    all: {
      type: 'boolean',
      text: `read all attempts, not only the newest ${READ_LIMITS.attempts.toLocaleString('en')}`,
    },
  },
  async run(context, commandLine) {
    const word = oneWord(tools, commandLine);
    const { api } = await context.connect();
    const batch = await resolveBatch(api, word, context.signal);
    const calls = new BatchCalls(batch, {
      api,
      follow: () => Promise.resolve(),
      ...(flag(commandLine, 'all') ? { limits: { attempts: Infinity, events: Infinity } } : {}),
    });
    await calls.load(context.signal);
    const { read } = calls;
    const tool = textOption(commandLine, 'calls');
    if (tool !== undefined) {
      if (!calls.tools.has(tool))
        throw new StudioError('not_found', `No attempt of batch ${batch} called the tool ${tool}.`, {
          hint: `List the tools that were called with rollout tools ${batch}.`,
        });
      const matches = calls
        .calls(new Set([tool]))
        .filter(({ error }) => !flag(commandLine, 'errors') || error !== undefined);
      const listed = matches.slice(0, numberOption(commandLine, 'limit', 1) ?? CALLS);
      if (context.json) context.printJson({ batch, tool, calls: matches.length, read, shown: listed });
      else {
        context.print(
          listed
            .map((fact) => `${fact.rollout}@${fact.seq}  ${callLine(fact, Math.max(40, context.terminal.width - 26))}`)
            .join('\n'),
        );
        context.log(
          `${listed.length} of ${plural(matches.length, 'call')}` +
            `${read.read < read.attempts ? `, in ${read.read} of ${plural(read.attempts, 'attempt')}` : ''}. Repeat ` +
            'a call with rollout call ROLLOUT@SEQ.',
        );
      }
      return 0;
    }
    const figures = [...calls.tools]
      .map((name) => {
        const only = new Set([name]);
        return { tool: name, ...calls.stats(only), in: calls.shares(only) };
      })
      .sort((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1));
    if (context.json) {
      context.printJson({ batch, read, tools: figures });
      return 0;
    }
    const isPredicted = figures.some(({ predictions }) => predictions !== null);
    const time = (ms: number | null): string => (ms === null ? '' : duration(ms));
    const share = ({ used, of }: { used: number; of: number }): string => (of === 0 ? '' : shareText(used, of));
    context.print(
      table(
        [
          [
            'tool',
            'calls',
            'errors',
            'p50',
            'p95',
            'in passed',
            'in failed',
            ...(isPredicted ? ['predicted'] : []),
            'errors by class',
          ],
          ...figures.map((row) => [
            row.tool,
            String(row.calls),
            shareText(row.errors, row.calls),
            time(row.p50),
            time(row.p95),
            share(row.in.passed),
            share(row.in.failed),
            ...(isPredicted ? [accuracyText(row.predictions?.accuracy ?? null)] : []),
            Object.entries(row.byClass)
              .map(([name, count]) => `${name} ${count}`)
              .join(', '),
          ]),
        ],
        [1, 2, 3, 4, 5, 6, ...(isPredicted ? [7] : [])],
      ),
    );
    if (read.read < read.attempts)
      context.log(
        `Based on the newest ${read.read} of ${plural(read.attempts, 'attempt')}. Use --all to read all attempts.`,
      );
    return 0;
  },
};
