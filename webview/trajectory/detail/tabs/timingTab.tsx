/** Shows how this step spent its time. */

import { duration } from '../../../../src/common/units.ts';
import { errorLabel } from '../../../../src/trace/text/labels.ts';
import type { TrajectoryView } from '../../view.ts';
import type { Subject } from '../subject.ts';
import { type TimeBar, timeBars } from './timing.ts';

export function TimingTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const bars = subject.step === undefined ? [] : timeBars(model, subject.step, model.event(model.last)?.at ?? 0);
  const whole = bars[0]?.ms ?? 0;
  if (bars.length === 0) {
    return <p class="remark">{model.timed ? 'There is no model call here.' : 'No timings in this recording.'}</p>;
  }
  const retries = [subject.step?.model, ...(subject.step?.tools ?? [])].flatMap((span) =>
    (span?.end?.data.retries ?? []).map(
      (retry) =>
        `${span?.kind === 'tool' ? `${span.start.data.name}: ` : ''}${errorLabel(retry.class)}, ` +
        `waited ${duration(retry.ms)}`,
    ),
  );
  return (
    <>
      <table class="timing" aria-label="Timing of this step">
        <tbody>
          {bars.map((bar, index) => (
            <Bar key={index} bar={bar} whole={whole} onGo={(seq) => view.go(seq)} />
          ))}
        </tbody>
      </table>
      {retries.length > 0 && (
        <section class="detail-section" aria-label="Retries">
          <header class="section-head">
            <h3>Retries</h3>
          </header>
          {retries.map((text, index) => (
            <div key={index} class="remark">
              {text}
            </div>
          ))}
        </section>
      )}
    </>
  );
}

function Bar({
  bar,
  whole,
  onGo,
}: {
  readonly bar: TimeBar;
  readonly whole: number;
  readonly onGo: (seq: number) => void;
}) {
  const share = whole === 0 ? 0 : bar.ms / whole;
  const { seq } = bar;
  return (
    <tr>
      <th scope="row" style={{ paddingLeft: `${12 + bar.depth * 14}px` }}>
        {seq === undefined ? (
          bar.name
        ) : (
          <button type="button" class="link" onClick={() => onGo(seq)}>
            {bar.name}
          </button>
        )}
      </th>
      <td class="timing-track">
        <span
          class={`timing-bar is-${bar.kind}`}
          style={{ left: `${whole === 0 ? 0 : (bar.from / whole) * 100}%`, width: `max(2px, ${share * 100}%)` }}
        />
      </td>
      <td class="timing-ms">
        {Math.round(bar.ms).toLocaleString('en')} ms{bar.open && ' …'}
      </td>
      <td class="timing-share dim">{Math.round(share * 100)}%</td>
    </tr>
  );
}
