import { resolveBatch } from '../../client/reference.ts';
import { table } from '../../client/text/table.ts';
import { BatchCalls, READ_LIMITS } from '../../client/toolCalls/batchCalls.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { callLine, shareText } from '../../trace/toolCalls/text.ts';
import { type Command, flag, numberOption, oneWord, textOption } from '../command.ts';

const CALLS = 20;

export const tools: Command = {
  name: 'tools',
  usage: 'BATCH [--calls TOOL [--errors] [--limit N]] [--all]',
  text:
    'Tells how the tools of a batch did: calls, errors, times, who used them; or lists calls of one tool, newest ' +
    'first.',
  options: {
    calls: { type: 'string', value: 'TOOL', text: 'list calls of this tool' },
    errors: { type: 'boolean', text: 'of them, those that failed' },
    limit: { type: 'string', value: 'N', text: `how many (${CALLS})` },
    all: {
      type: 'boolean',
      text: `read every attempt, not only the newest ${READ_LIMITS.attempts.toLocaleString('en')}`,
    },
  },
  async run(context, given) {
    const word = oneWord(tools, given);
    const { api } = await context.connect();
    const batch = await resolveBatch(api, word, context.signal);
    const calls = new BatchCalls(batch, {
      api,
      follow: () => Promise.resolve(),
      ...(flag(given, 'all') ? { limits: { attempts: Infinity, events: Infinity } } : {}),
    });
    await calls.load(context.signal);
    const { read } = calls;
    const named = textOption(given, 'calls');
    if (named !== undefined) {
      if (!calls.tools.has(named))
        throw new StudioError('not_found', `No attempt of batch ${batch} called a tool ${named}.`, {
          hint: `rollout tools ${batch} lists those that were called.`,
        });
      const wanted = calls.calls(new Set([named])).filter(({ error }) => !flag(given, 'errors') || error !== undefined);
      const shown = wanted.slice(0, numberOption(given, 'limit', 1) ?? CALLS);
      if (context.json) context.printJson({ batch, tool: named, calls: wanted.length, read, shown });
      else {
        context.print(
          shown
            .map((fact) => `${fact.rollout}@${fact.seq}  ${callLine(fact, Math.max(40, context.terminal.width - 26))}`)
            .join('\n'),
        );
        context.tell(
          `${shown.length} of ${plural(wanted.length, 'call')}` +
            `${read.read < read.attempts ? `, in ${read.read} of ${plural(read.attempts, 'attempt')}` : ''}. rollout ` +
            'call ROLLOUT@SEQ makes one again.',
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
    const time = (ms: number | null): string => (ms === null ? '' : duration(ms));
    const share = ({ used, of }: { used: number; of: number }): string => (of === 0 ? '' : shareText(used, of));
    context.print(
      table(
        [
          ['tool', 'calls', 'errors', 'p50', 'p95', 'of passed', 'of failed', 'errors by class'],
          ...figures.map((row) => [
            row.tool,
            String(row.calls),
            shareText(row.errors, row.calls),
            time(row.p50),
            time(row.p95),
            share(row.in.passed),
            share(row.in.failed),
            Object.entries(row.byClass)
              .map(([name, count]) => `${name} ${count}`)
              .join(', '),
          ]),
        ],
        [1, 2, 3, 4, 5, 6],
      ),
    );
    if (read.read < read.attempts)
      context.tell(
        `Calls, errors and times are of ${read.read} of ${plural(read.attempts, 'attempt')}, the newest; --all reads every one.`,
      );
    return 0;
  },
};
