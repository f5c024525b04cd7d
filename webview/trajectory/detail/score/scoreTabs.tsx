/** The tabs of a selected score or check: the check, its rows of the world, and the answer. */
import { ANSWER_CHECK } from '../../../../src/trace/cause.ts';
import { checksOf, checkText } from '../../../../src/trace/checkRows.ts';
import { stateAt } from '../../../../src/trace/fold.ts';
import type { Check, EventData } from '../../../../src/trace/schema.ts';
import { inline, valueText } from '../../../../src/trace/text/values.ts';
import { WORLD_OUTCOME_NAMES } from '../../../../src/trace/worldOutcomes.ts';
import { CheckTable } from '../../../checks/checkTable.tsx';
import { ActionLink } from '../../../components/link.tsx';
import { Icon } from '../../../components/marks/icon.tsx';
import { DiffText } from '../../../values/diffText.tsx';
import { type DiffSpan, inlineDiff } from '../../../values/inlineDiff.ts';
import type { TrajectoryView } from '../../view.ts';
import { WorldList } from '../parts/worldList.tsx';
import type { Subject } from '../subject.ts';
import { attemptAt, type CheckedRow, changesOf, checkedRow } from './checkedRows.ts';
import './score.css';

interface TabProps {
  readonly view: TrajectoryView;
  readonly subject: Extract<Subject, { kind: 'score' }>;
}

/** Shows the selected check, or all checks of the score, and the explanation. */
export function CheckTab({ view, subject }: TabProps) {
  const all = checksOf(subject.event.data);
  const selected = subject.check === undefined ? undefined : all[subject.check];
  return (
    <>
      <ChecksSection
        checks={selected === undefined ? all : [selected]}
        title={selected === undefined ? 'Checks' : 'Check'}
        onOpen={selected === undefined ? (check) => view.go(view.seq, check) : undefined}
      />
      <ScoreSection score={subject.event.data} />
    </>
  );
}

/** Shows the value of a score, its scorer, and the explanation. */
export function ScoreSection({ score }: { readonly score: EventData['score'] }) {
  const { scorer, value, outcome, explanation, error } = score;
  const text = error?.message ?? explanation;
  return (
    <section class="detail-section" aria-label="Score">
      <header class="section-head">
        <h3>Score</h3>
      </header>
      <dl class="fields">
        <div>
          <dt>Value</dt>
          <dd>{value === null ? 'Cannot be scored' : value}</dd>
        </div>
        {outcome !== undefined && (
          <div>
            <dt>Outcome</dt>
            <dd>{WORLD_OUTCOME_NAMES[outcome]}</dd>
          </div>
        )}
        <div>
          <dt>Scorer</dt>
          <dd>{scorer}</dd>
        </div>
        {text !== undefined && (
          <div>
            <dt>Explanation</dt>
            <dd>{text}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

export function ChecksSection({
  checks,
  title,
  onOpen,
}: {
  readonly checks: readonly Check[];
  readonly title: string;
  readonly onOpen: ((check: number) => void) | undefined;
}) {
  if (checks.length === 0) return null;
  return (
    <section class="detail-section" aria-label={title}>
      <header class="section-head">
        <h3>{title}</h3>
      </header>
      <div class="score-checks">
        <CheckTable checks={checks} {...(onOpen === undefined ? {} : { onOpen })} />
      </div>
    </section>
  );
}

/** Shows the checks, and the rows that differ from what was expected. */
export function CheckedWorldTab({ view, subject }: TabProps) {
  const all = checksOf(subject.event.data);
  const selected = subject.check === undefined ? undefined : all[subject.check];
  const checks = selected?.row === undefined ? all.filter(({ passed }) => !passed) : [selected];
  const rows = checks.flatMap((check) => checkedRow(check) ?? []);
  return (
    <>
      <ChecksSection checks={all} title="Checks" onOpen={(check) => view.go(view.seq, check)} />
      {[...Map.groupBy(rows, ({ table }) => table)].map(([table, of]) => (
        <section key={table} class="detail-section" aria-label={table}>
          <header class="section-head">
            <h3>
              <code>{table}</code>
            </h3>
            <span class="dim">
              {of.length} {of.length === 1 ? 'row differs' : 'rows differ'}
            </span>
          </header>
          {of.map((row, index) => (
            <RowTable key={index} view={view} row={row} />
          ))}
        </section>
      ))}
      {rows.length === 0 && <AllChanges view={view} subject={subject} />}
    </>
  );
}

function AllChanges({ view, subject }: TabProps) {
  const { model } = view.data;
  if (model.diffs.length === 0) return <p class="remark">This world does not report changes.</p>;
  return <WorldList view={view} changes={[...stateAt(model, subject.event.seq).world.values()]} />;
}

const LINES = { expected: 'expected', actual: 'actual', start: 'at the start' } as const;

function RowTable({ view, row }: { readonly view: TrajectoryView; readonly row: CheckedRow }) {
  return (
    <>
      <div class="score-row-scroll" tabIndex={0} role="group" aria-label={`Row ${checkText(row.key)}`}>
        <table class="score-row">
          <thead>
            <tr>
              <td />
              {row.columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {row.lines.map(({ kind, cells }) => (
              <tr key={kind} class={`is-${kind}`}>
                <th scope="row">{LINES[kind]}</th>
                {cells.map((spans, index) => (
                  <td key={row.columns[index]}>
                    {spans === undefined ? (
                      <span class="dim">–</span>
                    ) : (
                      <DiffText spans={spans} kind={kind === 'expected' ? 'expected' : 'actual'} />
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <History view={view} row={row} />
    </>
  );
}

/** Which step changed a row, or tried to. */
function History({ view, row }: { readonly view: TrajectoryView; readonly row: CheckedRow }) {
  const { model } = view.data;
  const changes = changesOf(model, row);
  const tried = changes.length > 0 || row.key === null ? undefined : attemptAt(model, row);
  const stepLink = (span: (typeof changes)[number]): preact.VNode => (
    <ActionLink label={`Step ${span.step}`} onClick={() => view.go(span.seq)} />
  );
  return (
    <p class="score-history">
      <Icon name="info" />
      <span>
        {changes.map((span) => (
          <span key={span.seq}>
            {stepLink(span)} changed this row: <code>{callText(view, span)}</code>{' '}
          </span>
        ))}
        {changes.length === 0 && (row.key === null ? 'No step added this row. ' : 'No step changed this row. ')}
        {tried !== undefined && (
          <>
            {stepLink(tried)} tried to: <code>{callText(view, tried)}</code> → {tried.end?.data.error?.message}
          </>
        )}
      </span>
    </p>
  );
}

function callText({ data: { model } }: TrajectoryView, span: Parameters<typeof model.argumentsOf>[0]): string {
  return `${span.start.data.name} ${inline(model.argumentsOf(span).value)}`;
}

/** Shows the expected and the actual answer. */
export function AnswerTab({ view, subject }: TabProps) {
  const all = checksOf(subject.event.data);
  const check = all.find(({ name }) => name === ANSWER_CHECK);
  const answer = view.data.model.end?.data.answer ?? null;
  const actual =
    check?.actual === undefined ? (answer === null ? 'No answer' : valueText(answer)) : checkText(check.actual);
  const expected = check?.expected === undefined ? undefined : checkText(check.expected);
  const spans = expected === undefined || check?.passed === true ? undefined : inlineDiff(expected, actual);
  return (
    <dl class="score-answer">
      {expected !== undefined && (
        <>
          <dt>expected</dt>
          <dd>
            <DiffText spans={spans?.before ?? plain(expected)} kind="expected" />
          </dd>
        </>
      )}
      <dt>{expected === undefined ? 'answer' : 'actual'}</dt>
      <dd>
        <DiffText spans={spans?.after ?? plain(actual)} kind="actual" />
      </dd>
    </dl>
  );
}

function plain(text: string): DiffSpan[] {
  return [{ text, differs: false }];
}
