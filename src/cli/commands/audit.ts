import { moment, table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import type { AuditEntry } from '../../protocol/access.ts';
import { harmlessLine } from '../../trace/text/terminal.ts';
import { type Command, numberOption, textOption } from '../command.ts';

const LIMIT = 50;
const PAGE = 500;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export const audit: Command = {
  name: 'audit',
  usage: '[--user NAME] [--batch BATCH] [--since TIME] [--limit N]',
  text:
    'Prints who launched, changed, forked, and exported what, newest first. Administrators see what everybody did, ' +
    'others what they did.',
  options: {
    user: { type: 'string', value: 'NAME', text: 'only what this user did' },
    batch: { type: 'string', value: 'BATCH', text: 'only what was done to this batch' },
    since: { type: 'string', value: 'TIME', text: 'only from this time on: 30m, 12h, 7d, or a date' },
    limit: { type: 'string', value: 'N', text: `number of entries (${LIMIT})` },
  },
  async run(context, commandLine) {
    if (commandLine.words.length > 0) throw new StudioError('usage', `usage: rollout audit ${audit.usage}`);
    const { api } = await context.connect();
    const [user, batch] = [textOption(commandLine, 'user'), textOption(commandLine, 'batch')];
    const since = sinceOf(textOption(commandLine, 'since'));
    const limit = numberOption(commandLine, 'limit', 1) ?? LIMIT;
    const entries: AuditEntry[] = [];
    for (let before: number | undefined; entries.length < limit; ) {
      const page = await api.audit(
        {
          limit: Math.min(limit - entries.length, PAGE),
          ...(user === undefined ? {} : { user }),
          ...(batch === undefined ? {} : { batch }),
          ...(since === undefined ? {} : { since }),
          ...(before === undefined ? {} : { before }),
        },
        context.signal,
      );
      entries.push(...page.entries);
      before = page.next;
      if (before === undefined) break;
    }
    if (context.json) context.printJson({ entries });
    else if (entries.length === 0) context.print('No entries.');
    else context.print(auditTable(entries));
    return 0;
  },
};

function auditTable(entries: readonly AuditEntry[]): string {
  return table([
    ['time', 'user', 'what', 'batch', 'result', ''],
    ...entries.map(({ at, user, what, batch, result, detail }) => [
      moment(at),
      harmlessLine(user ?? '(client token)'),
      harmlessLine(what),
      harmlessLine(batch ?? ''),
      harmlessLine(result),
      harmlessLine(detail ?? ''),
    ]),
  ]);
}

/** Parses a duration before now, or a date. Throws `usage`. */
function sinceOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number = '', unit = ''] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const time = number === '' ? Date.parse(text) : Date.now() - Number(number) * (UNITS[unit] ?? 0);
  if (Number.isNaN(time))
    throw new StudioError('usage', `--since ${text} is neither a duration nor a date.`, {
      hint: 'For example: --since 12h, or --since 2026-01-31.',
    });
  return Math.max(0, Math.floor(time));
}
