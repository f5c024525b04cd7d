/** Accuracy by turn, of both modes: where a world drifts from what really happened, the line falls. */
import { plural } from '../../src/common/text.ts';
import { percent } from '../../src/common/units.ts';
import type { TurnAccuracy } from '../../src/trace/prediction/byTurn.ts';
import { Line, Plot } from '../components/chart.tsx';
import { MODES } from './modes.ts';

export interface TurnLine {
  readonly how: keyof typeof MODES;
  readonly turns: readonly TurnAccuracy[];
}

export function TurnChart({ lines }: { readonly lines: readonly TurnLine[] }) {
  const last = Math.max(2, ...lines.flatMap(({ turns }) => turns.map(({ turn }) => turn)));
  return (
    <section class="fidelity-turns" aria-label="Accuracy by turn">
      <header class="section-head">
        <h2>By turn</h2>
        <span class="grow" />
        {lines.map(({ how }) => (
          <span key={how} class={`fidelity-key is-${how}`}>
            <i aria-hidden="true" /> {MODES[how].short}
          </span>
        ))}
      </header>
      <div class="fidelity-plot">
        <span class="fidelity-tick is-top dim">100%</span>
        <span class="fidelity-tick is-bottom dim">0</span>
        <Plot>
          {lines.map(({ how, turns }) => (
            <Line
              key={how}
              kind={`is-${how}`}
              points={turns.map(({ turn, accuracy }) => ({ x: (turn - 1) / (last - 1), y: 0.02 + accuracy * 0.96 }))}
            />
          ))}
        </Plot>
      </div>
      <div class="fidelity-axis dim">
        <span>turn 1</span>
        <span class="grow" />
        <span>{last}</span>
      </div>
      <ol class="only-read">
        {lines.flatMap(({ how, turns }) =>
          turns.map(({ turn, accuracy, calls }) => (
            <li key={`${how} ${turn}`}>
              Turn {turn}, {MODES[how].short}: {percent(accuracy)} of {plural(calls, 'call')}
            </li>
          )),
        )}
      </ol>
    </section>
  );
}
