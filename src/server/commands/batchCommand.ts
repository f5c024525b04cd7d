/** `POST /v1/batches/<id>/commands`. The state of a batch is in the store; the supervisor sends it to the workers. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { listText } from '../../common/text.ts';
import {
  type BatchCommand,
  type CommandReply,
  labelArgs,
  noteArgs,
  rescoreArgs,
  type ShareArgs,
  shareArgs,
  verbArgs,
} from '../../protocol/commands.ts';
import { cancelGroupArgs } from '../../protocol/groups.ts';
import type { Shared } from '../../store/accessStore.ts';
import type { CommandEvent, Store } from '../../store/store.ts';
import { recordOf } from '../batches/create.ts';
import { personalVerdict } from '../batches/labels.ts';
import { rescoreBatch } from '../batches/rescore.ts';
import { requireSecrets } from '../batches/secrets.ts';
import { parse } from '../http/call.ts';
import type { Services } from '../services.ts';
import { breakpointsOf } from '../workers/hub.ts';
import { commandDone, commandFailed, replyOf } from './result.ts';

const noArgs = z.object({});
/** `release`: ends the workers while the batch is paused. */
const pauseArgs = z.object({ release: z.boolean().optional() });
const cancelArgs = z.object({ reason: z.string().max(1000).optional() });
/**
 * `secrets`: values of `${env:…}`, which `retry` needs again because they were deleted when the batch ended, and
 * `resume` if they were lost.
 */
const valueArgs = z.object({ secrets: z.record(z.string(), z.string()).optional() });

/** Commands that are being applied, by their IDs: a client whose connection was cut sends its command again. */
const running = new WeakMap<Store, Map<string, Promise<CommandReply>>>();

/** Applies a command to a batch, once for its ID: also if it is sent again at the same time, or to another server. */
export async function commandBatch(services: Services, batch: string, request: BatchCommand): Promise<CommandReply> {
  await recordOf(services, batch);
  const applying = running.get(services.store) ?? new Map<string, Promise<CommandReply>>();
  running.set(services.store, applying);
  const key = JSON.stringify([batch, request.verb, request.command]);
  const same = applying.get(key);
  if (same !== undefined) return await same;
  const { store } = services;
  const reply = store
    .exclusively(`command ${request.command}`, () => applyOnce(services, batch, request))
    .finally(() => applying.delete(key));
  applying.set(key, reply);
  return await reply;
}

async function applyOnce(services: Services, batch: string, request: BatchCommand): Promise<CommandReply> {
  const { store, secrets, caller } = services;
  const { command, verb, by = 'client' } = request;
  const planned = plan(services, batch, request);
  const { recordedArgs } = planned;
  const stored = await store.putCommand(
    { id: command, batch, verb, args: recordedArgs, by },
    {
      command,
      verb,
      by,
      ...(caller.user === undefined ? {} : { user: caller.user }),
      args: secrets.clean(batch, recordedArgs),
    },
  );
  if (stored.result !== undefined) return replyOf(stored.result);
  try {
    const reply = await carryOut(services, command, planned);
    services.supervisor.check(batch);
    return reply;
  } catch (error) {
    if (StudioError.is(error) && error.code !== 'storage') await store.finishCommand(command, commandFailed(error));
    throw error;
  }
}

async function carryOut({ store }: Services, command: string, planned: Plan): Promise<CommandReply> {
  if ('event' in planned) return replyOf(await store.finishWith(command, planned.event, planned.reply));
  const reply = await planned.apply();
  await store.finishCommand(command, commandDone(reply));
  return reply;
}

type Plan = {
  /** The arguments to record in the batch's stream. */
  readonly recordedArgs: Json;
} & (
  | { readonly apply: () => Promise<CommandReply> }
  /** All that it does: an event, from whose seq the reply is made. */
  | { readonly event: CommandEvent; readonly reply: (seq: number) => Json }
);

function plan(services: Services, batch: string, request: BatchCommand): Plan {
  // Who it is counts more than who a program says it is.
  const person = services.caller.user ?? request.by;
  const { store, secrets, supervisor } = services;
  const args = request.args ?? {};
  switch (request.verb) {
    case 'pause': {
      const release = parse(pauseArgs, args, 'args').release === true;
      return { recordedArgs: release ? { release } : {}, apply: () => pause(services, batch, release) };
    }
    case 'resume': {
      const { secrets: sent } = parse(valueArgs, args, 'args');
      return { recordedArgs: {}, apply: () => resume(services, batch, sent) };
    }
    case 'cancel': {
      const { reason } = parse(cancelArgs, args, 'args');
      return {
        recordedArgs: reason === undefined ? {} : { reason },
        apply: async () => ({
          changed: await supervisor.stop(batch, reason ?? `Cancelled by ${person ?? 'a client'}.`),
        }),
      };
    }
    case 'retry': {
      const { secrets: sent } = parse(valueArgs, args, 'args');
      return { recordedArgs: {}, apply: () => retry(services, batch, sent) };
    }
    case 'seal':
      parse(noArgs, args, 'args');
      return {
        recordedArgs: {},
        apply: async () => {
          await store.seal(batch);
          return {};
        },
      };
    case 'breakpoints': {
      const { breakpoints: sent, of } = parse(verbArgs.breakpoints, args, 'args');
      const { by } = request;
      const breakpoints = by === undefined ? sent : sent.map((one) => ({ ...one, by: one.by ?? by }));
      return {
        recordedArgs: {
          breakpoints: JSON.parse(JSON.stringify(breakpoints)) as Json,
          ...(of === undefined ? {} : { of }),
        },
        apply: async () => {
          const kept =
            of === undefined
              ? []
              : breakpointsOf(await recordOf(services, batch)).filter(({ id }) => !id.startsWith(of));
          // drops undefined members
          await store.setBreakpoints(batch, JSON.parse(JSON.stringify([...kept, ...breakpoints])) as Json);
          return { changed: breakpoints.length };
        },
      };
    }
    case 'note': {
      const note = parse(noteArgs, args, 'args');
      return {
        recordedArgs: {},
        event: { kind: 'note', data: secrets.clean(batch, { ...note, by: person ?? 'client' }) },
        reply: () => commandDone({}),
      };
    }
    case 'label': {
      const label = parse(labelArgs, args, 'args');
      return {
        recordedArgs: label.note === undefined ? { ...label, note: null } : { ...label, note: label.note },
        event: { kind: 'verdict', data: secrets.clean(batch, personalVerdict(label, person)) },
        reply: (seq) => commandDone({ seq }),
      };
    }
    case 'share': {
      const sent = parse(shareArgs, args, 'args');
      const recordedArgs: Json = { ...(sent.with === undefined ? {} : { with: sent.with }), ...flags(sent) };
      return { recordedArgs, apply: () => share(services, batch, sent) };
    }
    case 'cancel_group': {
      const { group, reason } = parse(cancelGroupArgs, args, 'args');
      return {
        recordedArgs: { group, ...(reason === undefined ? {} : { reason }) },
        apply: async () => {
          const why = reason ?? `Canceled by ${person ?? 'a client'}.`;
          const changed = await store.cancelGroup(batch, group, why);
          return changed ? { changed: 1 } : { changed: 0, text: `Group ${group} has ended before.` };
        },
      };
    }
    case 'rescore': {
      const sent = parse(rescoreArgs, args, 'args');
      return {
        // The list may be long, and secrets are not recorded.
        recordedArgs: { batch: sent.batch, submission: sent.submission },
        apply: () => rescoreBatch(services, batch, sent, person ?? 'client'),
      };
    }
  }
}

function flags({ everyone, only_me }: ShareArgs): { everyone?: true; only_me?: true } {
  return { ...(everyone === true ? { everyone } : {}), ...(only_me === true ? { only_me } : {}) };
}

async function share(services: Services, batch: string, sent: ShareArgs): Promise<CommandReply> {
  const { row } = await recordOf(services, batch);
  const added = sent.with ?? [];
  const before = row.shared ?? [];
  const shared: Shared =
    sent.only_me === true
      ? []
      : sent.everyone === true || before === 'everyone'
        ? 'everyone'
        : [...new Set([...before, ...added])];
  await services.store.sharing.share(batch, shared);
  const who =
    shared === 'everyone' ? 'everybody who may read' : shared.length === 0 ? 'nobody else' : shared.join(', ');
  return { text: `Batch ${batch} of ${row.by ?? 'nobody'} is shared with ${who}.` };
}

async function pause({ store, startsWorkers }: Services, batch: string, release: boolean): Promise<CommandReply> {
  if (release && !startsWorkers)
    throw new StudioError('unsupported', 'This server does not manage workers, so it cannot stop them.', {
      hint: 'Pause the batch without releasing its workers, and stop them where they were started.',
    });
  await store.setPaused(batch, true, release);
  if (!release) return {};
  const running = (await store.batch(batch))?.row.counts.running ?? 0;
  const when =
    running === 0
      ? 'Its workers stop now'
      : 'Its workers stop once ' +
        `${running === 1 ? 'the running attempt is' : `the ${running} running attempts are`} held`;
  return { text: `Paused batch ${batch}. ${when}. Their attempts wait in the queue until you resume the batch.` };
}

/** Continues a paused batch, and keeps the values that were sent if its own are lost. */
async function resume(
  services: Services,
  batch: string,
  sent: Readonly<Record<string, string>> | undefined,
): Promise<CommandReply> {
  const { store, submissions, secrets, leasing, supervisor } = services;
  const { spec, released } = await recordOf(services, batch);
  let lacking = services.lackingValues(batch);
  if (released && lacking.length === 0) {
    // One that was restored from a backup: its values are not in it.
    const { env } = await submissions.get(spec.submission);
    if (env.names.length > 0 && (await supervisor.secretsOf(batch, env)) === undefined) lacking = env.names;
  }
  if (lacking.length > 0) {
    const submission = await submissions.get(spec.submission);
    requireSecrets(submission, sent, 'They are lost. Send them with the command, as args.secrets.');
    const own = Object.entries(sent ?? {}).filter(([name]) => submission.env.names.includes(name));
    await secrets.put(batch, submission.env, Object.fromEntries(own));
    supervisor.valuesSent(batch);
  }
  await store.setPaused(batch, false);
  leasing.check(batch, true);
  return lacking.length === 0 ? {} : { text: `Resumed batch ${batch} with the values of ${listText(lacking)}.` };
}

async function retry(
  services: Services,
  batch: string,
  sent: Readonly<Record<string, string>> | undefined,
): Promise<CommandReply> {
  const { leasing, secrets } = services;
  const changed = await secrets.inTurn(() => reopen(services, batch, sent));
  leasing.check(batch, true);
  return { changed };
}

/** Queues the unsettled attempts of a batch, and keeps the values that were sent. Returns their number. */
async function reopen(
  services: Services,
  batch: string,
  sent: Readonly<Record<string, string>> | undefined,
): Promise<number> {
  const { store, submissions, secrets } = services;
  const { spec } = await recordOf(services, batch);
  // An imported batch has no agent, so it uses no values.
  if (!spec.imported) {
    const submission = await submissions.get(spec.submission);
    requireSecrets(
      submission,
      sent ?? (await secrets.get(batch)),
      'Values are deleted when a batch ends. Send them with the command, as args.secrets.',
    );
    if (sent !== undefined) await secrets.put(batch, submission.env, sent);
  }
  const changed = await store.retry(batch);
  if (changed === 0 && (await recordOf(services, batch)).row.state === 'ended') await secrets.remove(batch);
  return changed;
}
