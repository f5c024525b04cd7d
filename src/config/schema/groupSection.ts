/** The `group` of a batch: what the groups are that a trainer requests of it. Keys are those of `createBatch.group`. */
import { z } from 'zod';
import { MAX_REPLAY_SHARE } from '../../trace/groups/replay.ts';
import { STALE_RULES } from '../../trace/groups/staleness.ts';
import { choice, fault, listOf, number, share, text, whole } from './values.ts';

/** As in requests of groups. */
const MAX_MEMBERS = 1024;
const MAX_DEADLINE_SECONDS = 30 * 24 * 60 * 60;

const replay = z
  .strictObject({
    from: listOf(text('b01hqz6k3v9m2x4p7t', 'the ID of a batch'), 'a list of batches', '[b01hqz6k3v9m2x4p7t]')
      .optional()
      .describe('Batches of the same store to take them from, in addition to this one.'),
    share: share('25%').optional().describe('The largest share of the rollouts of a group. Default: 25%.'),
    age: whole(0, 4).optional().describe('How many versions of the weights they may be behind. Default: 4.'),
    only: choice(['passed']).optional().describe('Which attempts are replayed.'),
  })
  .superRefine(({ share: part }, context) => {
    if (part !== undefined && (part === 0 || part > MAX_REPLAY_SHARE))
      fault(context, `the share of replayed rollouts is not between 0 and ${MAX_REPLAY_SHARE}`, 'Write `share: 25%`.', {
        path: ['share'],
      });
  });

export const groupSection = z
  .strictObject({
    size: whole(1, 16)
      .optional()
      .describe('Members with a reward that make a group complete. `rollout run --groups N` overrides it.'),
    extra: whole(0, 4).optional().describe('Members that start in addition: the first `size` that end count.'),
    min_usable: whole(1, 12)
      .optional()
      .describe('A group with at least this many can be used at its deadline. Default: `size`.'),
    deadline_s: number({
      min: 0.001,
      max: MAX_DEADLINE_SECONDS,
      what: 'seconds, at most 30 days',
      example: 600,
    })
      .optional()
      .describe('Seconds from the request of a group to its end, the time in the queue included.'),
    max_versions: whole(0, 2)
      .optional()
      .describe('A group with a call more than so many versions of the weights behind is stale at its delivery.'),
    stale: choice(STALE_RULES)
      .optional()
      .describe(
        'What happens to a stale group. `mark`: it says so. `drop`: it is not usable, and has no rows. `wait`: it ' +
          'ends again when new members have replaced those that are too old; at its deadline, it is marked.',
      ),
    filter: text('spread > 0', 'a CEL expression')
      .optional()
      .describe(
        'A group for which this CEL expression is false is delivered as not usable, without rows, and counted. Over ' +
          'the members that count: `size`, `mean` and `spread` of the rewards, `tokens` (of all), and the shares ' +
          '`passed`, `truncated`, `duplicates` (equal to another one), `drift` (split by tokens), and ' +
          '`disagreement` (of scorers).',
      ),
    replay: replay
      .optional()
      .describe(
        'Delivers successes of earlier groups of the same task, marked `replayed`, with a group in which no member ' +
          'passed.',
      ),
  })
  .superRefine((section, context) => {
    const { size, extra = 0, min_usable: minUsable } = section;
    if (size === undefined) return;
    if (size + extra > MAX_MEMBERS)
      fault(context, `a group has at most ${MAX_MEMBERS} members, not ${size + extra}`, 'Lower `size` or `extra`.', {
        path: ['size'],
      });
    if (minUsable !== undefined && minUsable > size)
      fault(context, `a group of ${size} never has ${minUsable} usable members`, 'Lower `min_usable`.', {
        path: ['min_usable'],
      });
  });
export type GroupSection = z.output<typeof groupSection>;
