/** `POST /v1/rollouts/<id>/commands`. */
import { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { type CommandReply, type RolloutCommand, verbArgs } from '../../protocol/commands.ts';
import type { CommandRecord, RolloutRecord, Store } from '../../store/store.ts';
import { parse } from '../http/call.ts';
import type { Services } from '../services.ts';
import { commandDone, commandFailed, replyOf } from './result.ts';

/** Workers cancel immediately. After this time the server cancels on its own. */
const CANCEL_GRACE_MS = 5_000;

/** Applies a command to a rollout. Idempotent by the command's ID. Waits until it was applied or can no longer be. */
export async function commandRollout(
  services: Services,
  id: string,
  request: RolloutCommand,
  signal: AbortSignal,
): Promise<CommandReply> {
  const { store, secrets } = services;
  const args = parse<unknown>(verbArgs[request.verb], request.args ?? {}, 'args') as Json; // parsed from JSON
  const existing = await store.command(request.command);
  const record = await rolloutOf(services, id);
  if (existing === undefined) checkFits(record, request);
  const by = request.by ?? 'client';
  const command = await store.putCommand({
    id: request.command,
    batch: record.row.batch,
    rollout: id,
    verb: request.verb,
    args,
    by,
  });
  if (existing === undefined)
    await store.addBatchEvent(record.row.batch, 'control', {
      command: command.id,
      verb: command.verb,
      by,
      ...(services.caller.user === undefined ? {} : { user: services.caller.user }),
      rollout: id,
      args: secrets.clean(record.row.batch, args),
    });
  if (command.result !== undefined) return replyOf(command.result);
  if (record.session === undefined) await withoutHolder(services, record, command);
  else if (command.verb === 'cancel') overruleLater(services, record, command);
  return answer(services, command, signal);
}

/** Throws `conflict` when the rollout's state does not allow the command. */
function checkFits(record: RolloutRecord, request: RolloutCommand): void {
  const { row, session } = record;
  if (row.state === 'ended')
    throw new StudioError('conflict', `Rollout ${row.rollout} has already ended.`, {
      hint: 'Fork it to continue from one of its events.',
    });
  if (request.expect !== undefined && request.expect.seq !== row.last) {
    throw new StudioError(
      'conflict',
      `Rollout ${row.rollout} has moved on: it is at event ${row.last}, not ${request.expect.seq}.`,
      { details: { head: row.last } },
    );
  }
  const needsHolder = request.verb !== 'hold' && request.verb !== 'release' && request.verb !== 'cancel';
  if (session === undefined && needsHolder) {
    throw new StudioError(
      'conflict',
      `No worker is running rollout ${row.rollout}, so it cannot be changed in place.`,
      { hint: 'Fork it instead.' },
    );
  }
}

/**
 * Applies a command to a rollout that no worker has. Cancel ends the row. Hold and release wait for the worker that
 * leases it: the store delivers them before the rollout's first gate.
 */
async function withoutHolder(services: Services, record: RolloutRecord, command: CommandRecord): Promise<void> {
  const { store } = services;
  const { batch, rollout } = record.row;
  if (command.verb === 'cancel') {
    const ended = await store.closeRollouts(
      { batch, rollout },
      { status: 'cancelled', reason: reasonOf(command) },
      false,
    );
    if (ended.length > 0)
      await store.finishCommand(command.id, commandDone({ text: 'The queued rollout was cancelled.' }));
    else overruleLater(services, record, command); // it was leased at this moment
    return;
  }
  // Replying finishes the command, but a worker still has to get it. A second command, which nobody waits for, does
  // that.
  await store.putCommand({
    id: `${command.id}.queued`,
    batch,
    rollout,
    verb: command.verb,
    args: command.args,
    by: command.by,
  });
  await store.finishCommand(
    command.id,
    commandDone({
      text:
        command.verb === 'hold'
          ? 'The rollout is queued. It will hold at its first gate.'
          : 'The rollout is queued. It will not hold.',
    }),
  );
}

function overruleLater(services: Services, record: RolloutRecord, command: CommandRecord): void {
  const { store, log } = services;
  const { batch, rollout } = record.row;
  const timer = setTimeout(() => {
    store
      .closeRollouts({ batch, rollout }, { status: 'cancelled', reason: reasonOf(command) }, true)
      .then(() =>
        store.finishCommand(
          command.id,
          commandDone({ text: 'The worker did not respond, so the server ended the rollout.' }),
        ),
      )
      .catch((error: unknown) => log(`cancelling ${rollout} failed: ${errorText(error)}`, { level: 'error', rollout }));
  }, CANCEL_GRACE_MS);
  const unwatch = services.changes.on(command.id, () => {
    clearTimeout(timer);
    unwatch();
  });
  timer.unref();
}

function reasonOf(command: CommandRecord): string {
  const { args } = command;
  const reason = typeof args === 'object' && args !== null && !Array.isArray(args) ? args['reason'] : undefined;
  return typeof reason === 'string' ? reason : `Cancelled by ${command.by}.`;
}

/** Resolves once the command has a result. Rejects if the rollout ends before the command was applied. */
function answer(services: Services, command: CommandRecord, signal: AbortSignal): Promise<CommandReply> {
  const { store, changes } = services;
  return new Promise((resolve, reject) => {
    const undo: (() => void)[] = [];
    const finish = (settle: () => void): void => {
      for (const one of undo.splice(0)) one();
      settle();
    };
    const check = async (): Promise<void> => {
      const now = await store.command(command.id);
      const result = now?.result;
      if (result !== undefined) {
        finish(() => {
          try {
            resolve(replyOf(result));
          } catch (error) {
            reject(error);
          }
        });
        return;
      }
      const rollout = await store.rollout(command.rollout ?? '');
      if (rollout !== undefined && rollout.row.state !== 'ended') return;
      const reached = command.verb === 'cancel' && rollout !== undefined;
      const seq = rollout === undefined ? undefined : await appliedAt(store, rollout, command.id);
      await store.finishCommand(
        command.id,
        reached
          ? commandDone({ text: 'The rollout has ended.' })
          : seq !== undefined
            ? commandDone({ seq })
            : commandFailed({ code: 'conflict', message: 'The rollout ended before the command was applied.' }),
      );
    };
    const onChange = (): void => void check().catch((error: unknown) => finish(() => reject(error)));
    undo.push(changes.on(command.id, onChange), changes.on(command.rollout ?? '', onChange));
    const onAbort = (): void =>
      finish(() =>
        reject(
          new StudioError(
            'cancelled',
            'The client disconnected before the command was applied. The command remains in effect.',
          ),
        ),
      );
    signal.addEventListener('abort', onAbort, { once: true });
    undo.push(() => signal.removeEventListener('abort', onAbort));
    onChange();
  });
}

/** Events at the end of a rollout among which that of its last command is. */
const TAIL = 100;
const TAIL_BYTES = 256 * 1024;

/** Returns the event by which a command was applied: the rollout may end before its worker says so. */
async function appliedAt(store: Store, { row }: RolloutRecord, command: string): Promise<number | undefined> {
  const tail = await store.read(row.rollout, Math.max(0, row.last - TAIL), TAIL_BYTES);
  return tail.find(({ body }) => {
    const { data } = stored.parse(JSON.parse(body));
    return data.command === command;
  })?.seq;
}

const stored = z.object({ data: z.looseObject({ command: z.string().optional() }) });

/** Returns the record of a rollout. Throws `not_found`. */
export async function rolloutOf(services: Services, id: string): Promise<RolloutRecord> {
  const record = await services.store.rollout(id);
  if (record === undefined) throw new StudioError('not_found', `There is no rollout ${id.slice(0, 100)} here.`);
  return record;
}
