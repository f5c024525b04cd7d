/** Next to the transcript: the checks of the score, and an outline of what happened. */
import { useMemo } from 'preact/hooks';
import { type CheckRow, checkRows, checksOf } from '../../../src/trace/checkRows.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { DiffText } from '../../values/diffText.tsx';
import { inlineDiff } from '../../values/inlineDiff.ts';
import type { TrajectorySession } from '../session.ts';
import { outlineText } from './outline.ts';
import { placeOf } from './rows.ts';
import './side.css';

const ROW_HEIGHT = 22;

export function TranscriptSide({ session }: { readonly session: TrajectorySession }) {
  return (
    <aside class="transcript-side" aria-label="Checks and outline">
      <Checks session={session} />
      <OutlineList session={session} />
    </aside>
  );
}

function Checks({ session }: { readonly session: TrajectorySession }) {
  const score = session.data.model.scores.at(-1);
  const checks = useMemo(() => (score === undefined ? [] : checksOf(score.data)), [score]);
  const rows = useMemo(() => checkRows(checks), [checks]);
  if (score === undefined || rows.length === 0) return null;
  const passed = checks.filter((check) => check.passed).length;
  return (
    <section class="side-checks" aria-label="Checks">
      <h2>
        Checks{' '}
        <span class="dim">
          {passed} of {checks.length} passed
        </span>
      </h2>
      <div class="side-check-list">
        {rows.map((row, index) => (
          <button
            key={index}
            type="button"
            class={`side-check${row.passed === false ? ' is-failed' : ''}`}
            aria-current={session.seq === score.seq && session.check === row.check}
            onClick={() => session.go(score.seq, row.check)}
          >
            <CheckEntry row={row} />
          </button>
        ))}
      </div>
    </section>
  );
}

function CheckEntry({ row: { name, field, passed, expected, actual } }: { readonly row: CheckRow }) {
  const spans = useMemo(
    () =>
      passed === false && expected !== undefined && actual !== undefined ? inlineDiff(expected, actual) : undefined,
    [passed, expected, actual],
  );
  const outcome = passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
  return (
    <>
      <Glyph outcome={outcome} title={outcome} />
      <span class="side-check-name">
        {name}
        {field !== undefined && <span class="dim"> {field}</span>}
      </span>
      {passed === false && expected !== undefined && (
        <span class="side-value">
          <DiffText spans={spans?.before ?? [{ text: expected, differs: true }]} kind="expected" />{' '}
          <span class="dim">expected</span>
        </span>
      )}
      {passed === false && actual !== undefined && (
        <span class="side-value">
          <DiffText spans={spans?.after ?? [{ text: actual, differs: true }]} kind="actual" />{' '}
          <span class="dim">actual</span>
        </span>
      )}
    </>
  );
}

function OutlineList({ session }: { readonly session: TrajectorySession }) {
  const { transcript, data } = session;
  const entries = transcript.outline(data.split?.seq);
  if (entries.length === 0) return null;
  return (
    <section class="side-outline">
      <h2>Outline</h2>
      <div class="side-outline-list">
        <VirtualList
          label="Outline"
          role="listbox"
          count={entries.length}
          rowHeight={ROW_HEIGHT}
          selected={placeOf(entries, session.seq)}
          keyOf={(index) => `${entries[index]?.kind}${entries[index]?.at}`}
          onSelect={(index) => {
            const entry = entries[index];
            if (entry !== undefined) session.go(entry.seq);
          }}
          row={(index) => {
            const entry = entries[index];
            if (entry === undefined) return null;
            const { icon, outcome, step, text, detail, code } = outlineText(
              data.model,
              entry,
              data.split?.other.attempt,
            );
            return (
              <>
                <span class="side-step">{step}</span>
                <span class="side-mark">
                  {outcome === undefined ? <Icon name={icon} /> : <Glyph outcome={outcome} title={outcome} />}
                </span>
                <span class={`side-text${code === true ? ' mono' : ''}`} title={text}>
                  {text}
                </span>
                {detail !== undefined && <span class="dim">{detail}</span>}
              </>
            );
          }}
        />
      </div>
    </section>
  );
}
