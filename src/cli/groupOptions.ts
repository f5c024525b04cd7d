/** Options of `rollout run` for a batch whose groups a trainer requests. */
import type { Launch } from '../client/launch.ts';
import { StudioError } from '../common/errors.ts';
import type { GroupSection } from '../config/schema/groupSection.ts';
import { compileFilter } from '../trace/groups/filter.ts';
import { STALE_RULES } from '../trace/groups/staleness.ts';
import { type CommandLine, numberOption, type Option, textOption } from './command.ts';

/** Value of `--groups`: the batch file says how large groups are. */
const OF_FILE = 'file';

export const GROUP_OPTIONS: Readonly<Record<string, Option>> = {
  groups: {
    type: 'string',
    value: 'N|file',
    text:
      'for a trainer: keep the batch open for groups of N attempts (`file`: as `group` in the batch file says), ' +
      'which it requests by POST /v1/groups, and print the ID of the batch; the options below override `group`',
  },
  extra: { type: 'string', value: 'N', text: 'with --groups: attempts that start in addition; the first N count' },
  'min-usable': {
    type: 'string',
    value: 'N',
    text: 'with --groups: a group with at least this many can be used at its deadline',
  },
  deadline: { type: 'string', value: 'SECONDS', text: 'with --groups: the longest time from request to end' },
  'max-versions': {
    type: 'string',
    value: 'N',
    text: 'with --groups: a group is stale if its weights are more than N versions behind',
  },
  stale: {
    type: 'string',
    value: 'RULE',
    text: `with --max-versions: ${STALE_RULES.join(', ')}; default ${STALE_RULES[0]}`,
  },
  filter: {
    type: 'string',
    value: 'CEL',
    text: "with --groups: a group for which this is false is not usable, and has no rows, e.g. 'spread > 0'",
  },
};

/** What the options say, before the batch file is read. */
export interface GroupOptions {
  /** Undefined: it is no batch for groups. */
  readonly size: number | typeof OF_FILE | undefined;
  readonly settings: Omit<NonNullable<Launch['group']>, 'size'>;
}

/** Reads the options. Throws StudioError `usage`. */
export function groupOptions(commandLine: CommandLine): GroupOptions {
  const size = textOption(commandLine, 'groups') === OF_FILE ? OF_FILE : numberOption(commandLine, 'groups', 1);
  const rule = textOption(commandLine, 'stale');
  const stale = STALE_RULES.find((one) => one === rule);
  if (rule !== undefined && stale === undefined)
    throw new StudioError('usage', `--stale must be one of ${STALE_RULES.join(', ')}, not “${rule}”.`);
  const filter = textOption(commandLine, 'filter');
  if (filter !== undefined) compileFilter(filter); // fail early, before anything starts
  const [extra, minUsable, deadline, maxVersions] = [
    numberOption(commandLine, 'extra', 0),
    numberOption(commandLine, 'min-usable', 1),
    numberOption(commandLine, 'deadline', 1),
    numberOption(commandLine, 'max-versions', 0),
  ];
  const settings = {
    ...(extra === undefined ? {} : { extra }),
    ...(minUsable === undefined ? {} : { min_usable: minUsable }),
    ...(deadline === undefined ? {} : { deadline_s: deadline }),
    ...(maxVersions === undefined ? {} : { max_versions: maxVersions }),
    ...(stale === undefined ? {} : { stale }),
    ...(filter === undefined ? {} : { filter }),
  };
  if (size === undefined && Object.keys(settings).length > 0) {
    const names = Object.keys(GROUP_OPTIONS).filter((name) => name !== 'groups');
    throw new StudioError('usage', `${names.map((name) => `--${name}`).join(', ')} need --groups.`);
  }
  return { size, settings };
}

/** Returns the launch options of a batch for a trainer. `section`: that of its file. Throws StudioError `usage`. */
export function groupsOf({ size, settings }: GroupOptions, section: GroupSection | undefined): Pick<Launch, 'group'> {
  if (size === undefined) return {};
  const members = size === OF_FILE ? section?.size : size;
  if (members === undefined)
    throw new StudioError('usage', 'The batch file does not say how large its groups are.', {
      hint: 'Add `group: { size: 16 }` to it, or use --groups 16.',
    });
  return { group: { ...section, ...settings, size: members } };
}
