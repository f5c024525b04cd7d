/** What the hover card and the detail pane say about an attempt. */
import type { ComponentChildren } from 'preact';
import { Fragment } from 'preact';
import { plural } from '../../../src/common/text.ts';
import { compact, duration } from '../../../src/common/units.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { troubleIn } from '../../../src/trace/trouble.ts';
import { REWARD } from '../../../src/trace/verdicts.ts';
import { CheckTable } from '../../checks/checkTable.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { useNow } from '../../components/useNow.ts';
import { argumentDifferences } from '../../trajectory/head/verdictText.ts';
import { DiffText } from '../../values/diffText.tsx';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView, CellAt } from '../batchView.ts';
import { attemptChecks, causeDetail } from '../model/attemptChecks.ts';
import { rewardText, stateText } from '../model/cellText.ts';
import type { Outline } from '../model/outline.ts';
import { outcomeAt } from '../model/taskFacts.ts';
import type { AttemptReader } from './record/attemptReader.ts';
import './attempt.css';

export function AttemptTitle({ view, cell: { index, attempt } }: { readonly view: BatchView; readonly cell: CellAt }) {
  const name = view.taskName(index);
  const row = view.row(index, attempt);
  const outcome = outcomeAt(row);
  const reward = rewardText(row);
  return (
    <div class="attempt-title">
      <Glyph outcome={outcome} size={14} title={outcome} />
      <span class="attempt-name" title={name}>
        {name}
      </span>
      <span class="attempt-number">
        attempt {attempt} of {view.width}
      </span>
      {reward !== undefined && (
        <span class="attempt-reward" title={`${view.data.scorer} ${reward}`}>
          <span class="attempt-scorer">{view.data.scorer}</span> <b>{reward}</b>
        </span>
      )}
    </div>
  );
}

interface ReasonProps {
  readonly view: BatchView;
  /** Undefined before the attempt starts. */
  readonly row: RolloutRow | undefined;
  readonly reader: AttemptReader | undefined;
  readonly maxRows: number;
  readonly expandable: boolean;
}

/** Why it did not pass, or what it waits for. A passed attempt needs no reason. */
export function Reason({ view, row, reader, maxRows, expandable }: ReasonProps) {
  const state = stateText(row);
  if (state !== undefined)
    return (
      <section class="attempt-reason">
        <p>{state.head}</p>
        {state.text !== undefined && <p class="attempt-detail">{state.text}</p>}
      </section>
    );
  const cause = row === undefined ? undefined : causeOf(row);
  if (row === undefined || cause === undefined) return null;
  // The recorded score explains the reward, not the verdict of another scorer.
  const outline = view.data.scorer === REWARD ? reader?.outline : undefined;
  const checks = outline === undefined ? [] : attemptChecks(outline, view.data.records[row.task_index], cause);
  const detail = checks.length > 0 ? undefined : causeDetail(outline, row, cause);
  return (
    <section class="attempt-reason">
      <h2>Cause</h2>
      <p>
        <b>{cause.text}</b>
      </p>
      {detail !== undefined && <p class="attempt-detail">{detail}</p>}
      <CheckTable checks={checks} maxRows={maxRows} expandable={expandable} />
    </section>
  );
}

/** How long it took and where: steps, time, tokens, and the step of the first error. */
export function Times({ row, outline }: { readonly row: RolloutRow; readonly outline: Outline | undefined }) {
  const { progress, state } = row;
  const isRunning = state === 'running' || state === 'held';
  const now = useNow(isRunning);
  const { started_at: since } = progress;
  const ms = isRunning && since !== undefined ? Math.floor((now - since) / 1_000) * 1_000 : progress.ms;
  const tokens = progress.input_tokens + progress.output_tokens;
  const failed = outline?.steps.find(
    (step) => step.kind === 'step' && step.error !== undefined && troubleIn(step.error) === 'error',
  );
  return (
    <section class="attempt-times">
      {outline !== undefined && outline.calls.length > 0 && <TimeBar calls={outline.calls} />}
      <p>
        <span>{plural(progress.steps, 'step')}</span>
        {ms !== undefined && <span class="attempt-ms">{duration(ms)}</span>}
        {tokens > 0 && <span>{compact(tokens)} tokens</span>}
        {failed?.kind === 'step' && (
          <span class="attempt-first-error" title="First error">
            <Glyph outcome="failed" title="first error in" /> step {failed.step}
          </span>
        )}
      </p>
    </section>
  );
}

function TimeBar({ calls }: Pick<Outline, 'calls'>) {
  const total = (kind: 'model' | 'tool'): number =>
    calls.reduce((sum, call) => sum + (call.kind === kind ? call.ms : 0), 0);
  const label = `${duration(total('model'))} in model calls, ${duration(total('tool'))} in tools`;
  return (
    <div class="attempt-bar" role="img" aria-label={label} title={label}>
      {calls.map(({ kind, ms, failed }, index) => (
        <i key={index} class={failed ? 'is-failed' : `is-${kind}`} style={{ flexGrow: ms }} />
      ))}
    </div>
  );
}

interface DivergenceProps {
  readonly reader: AttemptReader | undefined;
  /** Opens an attempt at an event. Absent: nothing is a link. */
  readonly onOpen?: (rollout: string, seq: number) => void;
}

/** Where it diverges from the nearest passed attempt. */
export function Divergence({ reader, onOpen }: DivergenceProps) {
  const { split, model } = reader ?? {};
  if (reader === undefined || split === undefined || model === undefined) return null;
  const { call, otherCall, other } = split;
  const differences = argumentDifferences(split);
  const place = model.end?.seq === split.seq ? 'the end' : `step ${model.stepOf(split.seq)?.index ?? 0}`;
  const link = (text: string, rollout: string, seq: number): ComponentChildren =>
    onOpen === undefined ? (
      <span class="attempt-link">{text}</span>
    ) : (
      <button type="button" class="link is-link" onClick={() => onOpen(rollout, seq)}>
        {text}
      </button>
    );
  return (
    <section class="attempt-split">
      <Icon name="repo-forked" />
      <p>
        Diverges at {link(place, reader.rollout, split.seq)} from{' '}
        {link(`attempt ${other.attempt}`, other.rollout, split.otherSeq)} (passed)
        {differences?.map(({ name, own, other: theirs }, index) => (
          <Fragment key={name}>
            {index === 0 ? ': ' : ', '}
            {name === '' ? 'arguments' : name} <Side spans={own} kind="actual" />{' '}
            <Side spans={theirs} kind="expected" />
          </Fragment>
        ))}
        {differences === undefined && (call !== undefined || otherCall !== undefined) && (
          <>
            : <Side spans={whole(call?.data.name ?? 'no call')} kind="actual" />{' '}
            <Side spans={whole(otherCall?.data.name ?? 'no call')} kind="expected" />
          </>
        )}
      </p>
    </section>
  );
}

function Side({
  spans,
  kind,
}: {
  readonly spans: Parameters<typeof DiffText>[0]['spans'] | undefined;
  readonly kind: 'actual' | 'expected';
}) {
  return (
    <span title={kind === 'actual' ? 'This attempt' : 'The passed attempt'}>
      <DiffText spans={spans ?? whole('none')} kind={kind} />
    </span>
  );
}

interface KeysProps {
  readonly view: BatchView;
  readonly cell: CellAt;
  readonly actions: BatchActions;
}

/** The keys that act on the attempt, as far as they can. */
export function AttemptKeys({ view, cell, actions }: KeysProps) {
  const { can } = actions;
  const row = view.row(cell.index, cell.attempt);
  return (
    <section class="attempt-keys">
      {row !== undefined && can.has('open') && <Key name="↵">open</Key>}
      {view.width > 1 && can.has('open') && actions.trimmed() === undefined && <Key name="C">compare</Key>}
      {actions.canFork(cell) && <Key name="F">fork</Key>}
      <Key name="Y">copy {can.has('link') && row !== undefined ? 'link' : 'reference'}</Key>
    </section>
  );
}

function Key({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <span>
      <kbd>{name}</kbd> {children}
    </span>
  );
}

function whole(text: string): Parameters<typeof DiffText>[0]['spans'] {
  return [{ text, differs: true }];
}
