import type { TraceEvent } from '../../trace/schema.ts';
import type { Transaction } from '../sql/sql.ts';
import type { AppendRequest, AppendResult } from '../store.ts';
import { advance } from './advance.ts';
import type { Batch } from './batchState.ts';
import { addBlobRefs } from './blobRefs.ts';
import { type EventRun, insertRuns, runsOf } from './events.ts';
import { Ledger } from './ledger.ts';
import { type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';
import { follow, type StreamGuard } from './streamGuard.ts';
import { copyVerdict, originsOf } from './verdicts.ts';

/** Appends to many rollouts in one transaction. The results are in the order of the requests. */
export async function appendAll(tx: Transaction, requests: readonly AppendRequest[]): Promise<AppendResult[]> {
  const own = [...new Set(requests.map((request) => request.rollout))];
  // A verdict changes two rollouts, so both are locked here, in the order of all locks.
  const scored = new Set(requests.filter(({ events }) => events.some(isSettling)).map((request) => request.rollout));
  const names = [...new Set([...own, ...(scored.size === 0 ? [] : await originsOf(tx, [...scored]))])];
  const rows = await tx.all(
    `${SELECT_ROLLOUT} WHERE ${tx.dialect.anyText('name')} ORDER BY id${tx.dialect.forUpdate}`,
    names,
  );
  const rollouts = new Map(rows.map(readRollout).map((rollout) => [rollout.name, rollout]));
  const last = new Map(
    Array.from(rollouts.values(), ({ name, last: seq, state, guard }): [string, StreamEnd] => [
      name,
      { seq, ended: state === 'ended', guard },
    ]),
  );

  // Validate all requests first, because only accepted ones need their batch.
  const accepted: AcceptedAppend[] = [];
  const results = requests.map((request): AppendResult => {
    const rollout = rollouts.get(request.rollout);
    const end = last.get(request.rollout);
    if (rollout === undefined || end === undefined)
      return refused('fenced', 0, `Rollout ${request.rollout} no longer exists.`);
    const validated = validate(request, rollout, end);
    if ('refuse' in validated) return validated.refuse;
    const { events, guard } = validated;
    if (events.length > 0 || guard !== end.guard) {
      accepted.push({ rollout, events, guard });
      end.guard = guard;
    }
    if (events.length > 0) {
      end.seq = request.from + request.events.length - 1;
      end.ended = events.at(-1)?.kind === 'rollout.end';
    }
    return { ok: true, durable: end.seq };
  });
  if (accepted.length === 0) return results;

  const ending = accepted.filter(({ rollout, events }) => rollout.origin !== undefined && events.some(isSettling));
  const targets = new Map(
    ending.flatMap(({ rollout }) => {
      const target = rollouts.get(rollout.origin?.rollout ?? '');
      return target === undefined ? [] : [[rollout, target]];
    }),
  );
  const ledger = await Ledger.of(tx, [...accepted.map(({ rollout }) => rollout), ...targets.values()]);
  const runs: EventRun[] = [];
  const refs = new Map<Batch, string[]>();
  for (const { rollout, events, guard } of accepted) {
    const batch = ledger.findBatch(rollout.batch);
    if (batch === undefined) continue; // being removed, so nobody will read it
    ledger.change(rollout).guard = guard;
    if (events.length === 0) continue;
    runs.push(...runsOf(rollout.id, events, (shas) => refs.set(batch, [...(refs.get(batch) ?? []), ...shas])));
    advance(rollout, events);
  }
  await insertRuns(tx, runs);
  for (const [batch, shas] of refs) await addBlobRefs(tx, batch.id, shas);
  for (const [rollout, target] of targets)
    if (ledger.willSettle(rollout)) await copyVerdict(tx, ledger, rollout, target);
  await ledger.save();
  return results;
}

/** Whether a rollout ends with a result that may settle its attempt. */
function isSettling({ kind, data }: TraceEvent): boolean {
  return kind === 'rollout.end' && data.status !== 'infrastructure' && data.status !== 'cancelled';
}

/** The end of a stream, including the requests validated so far. */
interface StreamEnd {
  seq: number;
  ended: boolean;
  guard: StreamGuard | undefined;
}

interface AcceptedAppend {
  readonly rollout: RolloutRecordRow;
  /** None: only the guard changes. */
  readonly events: readonly TraceEvent[];
  /** The state after them. */
  readonly guard: StreamGuard | undefined;
}

function validate(
  request: AppendRequest,
  rollout: RolloutRecordRow,
  end: StreamEnd,
): { refuse: AppendResult } | Omit<AcceptedAppend, 'rollout'> {
  const { from, events, epoch } = request;
  if (epoch !== rollout.epoch) {
    return {
      refuse: refused(
        'fenced',
        end.seq,
        `Rollout ${rollout.name} is at epoch ${rollout.epoch}, so epoch ${request.epoch} can no longer write.`,
      ),
    };
  }
  if (request.scoring === true && !end.ended && end.guard !== undefined && end.guard.scoring !== epoch)
    return { events: [], guard: { ...end.guard, scoring: epoch } };
  if (from > end.seq + 1)
    return { refuse: refused('gap', end.seq, `Events ${end.seq + 1} to ${from - 1} are missing.`) };
  const added = events.slice(end.seq + 1 - from);
  if (added.length === 0) return { events: added, guard: end.guard }; // a repeat
  const audited = request.audited === true;
  if (end.ended) {
    if (audited) return { refuse: refused('tampered', end.seq, `event ${end.seq + 1} comes after the end`) };
    return { refuse: refused('fenced', end.seq, `Rollout ${rollout.name} has ended.`) };
  }
  const wrong = added.findIndex((event, index) => event.seq !== end.seq + 1 + index);
  if (wrong >= 0)
    return { refuse: refused('gap', end.seq, `Event ${end.seq + 1 + wrong} does not follow the previous event.`) };
  const ending = added.findIndex((event) => event.kind === 'rollout.end');
  if (ending >= 0 && ending < added.length - 1) {
    const after = `event ${end.seq + 2 + ending} comes after the end`;
    return { refuse: refused(audited ? 'tampered' : 'gap', end.seq, after) };
  }
  if (end.guard === undefined) return { events: added, guard: undefined };
  const followed = follow(end.guard, epoch, added);
  if ('guard' in followed) return { events: added, guard: followed.guard };
  return audited ? { refuse: refused('tampered', end.seq, followed.problem) } : { events: added, guard: undefined };
}

function refused(code: 'fenced' | 'gap' | 'tampered', durable: number, message: string): AppendResult {
  return { ok: false, code, durable, message };
}
