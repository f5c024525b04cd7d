/** The user's actions on the batch page. Failures are shown as a notice. */
import { errorText } from '../../src/common/errors.ts';
import { trimmedText } from '../../src/common/trimmed.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { PageAction, PageVerb } from '../../src/protocol/page.ts';
import { say } from '../components/notices/notice.tsx';
import { refusalOf } from '../data/refusals.ts';
import type { Host } from '../host/host.ts';
import type { AttemptReader } from './attempt/record/attemptReader.ts';
import type { BatchView, CellAt } from './batchView.ts';

/** Returns where an attempt diverges from a passed one; undefined if that is unknown, or only at its end. */
function divergenceOf(reader: AttemptReader | undefined): number | undefined {
  const { split, model } = reader ?? {};
  return split === undefined || split.seq === model?.end?.seq ? undefined : split.seq;
}

export type BatchVerb = Extract<PageAction, { do: 'batch' }>['verb'];

export interface BatchActions {
  readonly readOnly: boolean;
  readonly can: ReadonlySet<PageVerb>;
  readonly open: (cell: CellAt, beside: boolean) => void;
  /** `seq`: the event to select. */
  readonly openRollout: (rollout: string, beside: boolean, seq?: number) => void;
  /** Compares an attempt with the others of its task. */
  readonly compare: (cell: CellAt) => void;
  /** Opens the form for a fork of an attempt: where it diverges if that is known, or else at its last step. */
  readonly fork: (cell: CellAt) => void;
  readonly canFork: (cell: CellAt) => boolean;
  /** What happened to the trajectories if they were dropped: why nothing that needs them works. */
  readonly trimmed: () => string | undefined;
  /** Compares this batch with another one. */
  readonly compareWith: (other: BatchRow) => void;
  /** Opens the page of how well the world predicts the recorded calls. */
  readonly fidelity: () => void;
  /** Copies the reference of an attempt. */
  readonly copy: (cell: CellAt) => void;
  /** Copies the link to an attempt, or its reference where there are no links, or nothing to open yet. */
  readonly copyLink: (cell: CellAt) => void;
  readonly note: (rollout: string, text: string) => void;
  readonly batch: (verb: BatchVerb) => void;
  /** Lists the pods, with their logs. */
  readonly pods: () => void;
  readonly save: () => void;
  readonly link: () => void;
}

export function batchActions(
  host: Host,
  view: BatchView,
  { readOnly, can }: Pick<BatchActions, 'readOnly' | 'can'>,
): BatchActions {
  const { batch } = view.data;
  const report = (done: Promise<void>, text?: string): void => {
    done.then(
      () => {
        if (text !== undefined) say(text);
      },
      (error: unknown) => say(errorText(error)),
    );
  };
  const place = () => ({ page: 'batch' as const, batch, ...(view.filter === '' ? {} : { filter: view.filter }) });
  const openRollout = (rollout: string, beside: boolean, seq?: number): void =>
    report(
      host.act({
        do: 'open',
        place: { page: 'trajectory', rollout, ...(seq === undefined ? {} : { seq }) },
        ...(beside ? { beside } : {}),
      }),
    );
  const copy = ({ index, attempt }: CellAt): void => {
    const reference = `${batch}/${view.taskName(index)}/${attempt}`;
    report(host.act({ do: 'copy', text: reference }), `Copied ${reference}`);
  };
  /** Why what needs events does not work. */
  const trimmed = (): string | undefined => {
    const of = view.data.row?.trimmed;
    return of === undefined ? undefined : trimmedText(of);
  };
  const canFork = ({ index, attempt }: CellAt): boolean => {
    const state = view.row(index, attempt)?.state ?? 'queued';
    return (
      !readOnly &&
      can.has('open') &&
      view.data.row?.imported === false &&
      state !== 'queued' &&
      trimmed() === undefined &&
      refusalOf(view.data, 'launch', view.data.row) === undefined
    );
  };
  return {
    readOnly,
    can,
    openRollout,
    open: (cell, beside) => {
      const row = view.row(cell.index, cell.attempt);
      if (row === undefined) say('This attempt has not started yet.');
      else openRollout(row.rollout, beside);
    },
    compare: ({ index, attempt }) => {
      const row = view.row(index, attempt);
      const rollout = row === undefined ? {} : { rollout: row.rollout };
      const why = trimmed();
      if (why !== undefined) say(why);
      else if (can.has('open'))
        report(host.act({ do: 'open', place: { page: 'compare', batch, task: view.taskName(index), ...rollout } }));
    },
    fork: (cell) => {
      const row = view.row(cell.index, cell.attempt);
      if (row === undefined || row.state === 'queued') say('This attempt has not started yet.');
      else if (!canFork(cell))
        say(trimmed() ?? refusalOf(view.data, 'launch', view.data.row) ?? 'This attempt cannot be forked.');
      else {
        const seq = divergenceOf(view.attemptRecords.get(row.rollout)?.reader);
        const at = seq === undefined ? {} : { seq };
        report(host.act({ do: 'open', place: { page: 'trajectory', rollout: row.rollout, ...at, fork: true } }));
      }
    },
    canFork,
    trimmed,
    compareWith: (other) => {
      const later = other.created_at >= (view.data.row?.created_at ?? 0);
      report(
        host.act({
          do: 'open',
          place: { page: 'batches', ...(later ? { batch, with: other.batch } : { batch: other.batch, with: batch }) },
        }),
      );
    },
    fidelity: () => report(host.act({ do: 'open', place: { page: 'fidelity', batch } })),
    copy,
    copyLink: (cell) => {
      const row = view.row(cell.index, cell.attempt);
      if (row === undefined || !can.has('link')) copy(cell);
      else report(host.act({ do: 'link', place: { page: 'trajectory', rollout: row.rollout } }), 'Copied the link');
    },
    note: (rollout, text) => {
      const refused = refusalOf(view.data, 'control', view.data.row);
      if (refused === undefined) report(view.data.note(rollout, 'note', text));
      else say(refused);
    },
    batch: (verb) => report(host.act({ do: 'batch', batch, verb })),
    pods: () => report(host.act({ do: 'pods', batch })),
    save: () => report(host.act({ do: 'save', place: place() })),
    link: () => report(host.act({ do: 'link', place: place() }), 'Copied the link'),
  };
}
