/** Schema of the file of `--shares`: how a server divides what it has among users and queues. */
import { z } from 'zod';
import { amount, expects, group, listOf, name, text, whole } from './values.ts';

const WEIGHT = expects('a number above 0', '2');
const EXAMPLE = '{ weight: 2, rollouts: 200 }';

const limits = {
  weight: z
    .number(WEIGHT)
    .positive(WEIGHT)
    .optional()
    .describe('The share of what is scarce, relative to the weights of the others who need it. Default: 1.'),
  rollouts: whole(1, 200).optional().describe('Maximum number of rollouts at once, of all batches.'),
  pods: whole(1, 8).optional().describe('Maximum number of pods at once, of all batches.'),
  tokens_per_hour: amount('50M')
    .optional()
    .describe('Maximum number of input and output tokens in any hour. Beyond it, rollouts wait.'),
};

export const sharesFile = z.strictObject({
  version: z.literal(1, expects('1', '1')).optional().describe('Version of the format.'),
  users: z
    .record(text('alice', 'the name of a user'), group(limits, 'settings of a user', EXAMPLE), {
      ...expects('users by name', '{ alice: { weight: 2 } }'),
    })
    .optional()
    .describe('Weights and limits of users, by the names with which they log in.'),
  default: group(limits, 'settings of a user', EXAMPLE)
    .optional()
    .describe('Weight and limits of each user without a line of its own.'),
  queues: z
    .record(
      name,
      group(
        {
          ...limits,
          users: listOf(text('alice', 'the name of a user'), 'a list of users', '[alice, bob]')
            .min(1, expects('a list of users', '[alice, bob]'))
            .optional()
            .describe('Who may use the queue. Default: everybody who may launch.'),
          local_queue: text('research', 'the name of a LocalQueue')
            .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, expects('the name of a LocalQueue', 'research'))
            .optional()
            .describe('Kueue LocalQueue for the pods of its batches, unless a batch file sets `pods.queue`.'),
        },
        'settings of a queue',
        EXAMPLE,
      ),
      { ...expects('queues by name', '{ research: { weight: 2 } }') },
    )
    .optional()
    .describe('Queues that batch files name with `queue`. They divide first, then the users of each.'),
});
export type SharesFile = z.output<typeof sharesFile>;
export type ShareLimits = NonNullable<SharesFile['default']>;
export type QueueSettings = NonNullable<SharesFile['queues']>[string];
