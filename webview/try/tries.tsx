/** The runs of this panel, newest first. Each can be shown again, or its arguments restored. */
import { valueText } from '../../src/trace/text/values.ts';
import { Button } from '../components/controls.tsx';
import { clock } from '../format.ts';
import { OutcomeGlyph, outcomeText } from './outcome.tsx';
import type { TrySession } from './trySession.ts';

export function Tries({ session }: { readonly session: TrySession }) {
  return (
    <section class="try-tries" aria-label="Runs">
      <header class="section-head">
        <h2>Runs</h2>
      </header>
      <ol>
        {session.tries.map((one) => (
          <li key={one.number} class={one === session.selected ? 'is-selected' : ''}>
            <button
              type="button"
              class="try-row"
              aria-current={one === session.selected}
              onClick={() => session.select(one.number)}
            >
              <span class="dim">{clock(one.at)}</span> <OutcomeGlyph outcome={one.outcome} />{' '}
              <span class="try-row-text">{outcomeText(one.outcome)}</span>{' '}
              <code class="dim">{valueText(one.arguments)}</code>
            </button>
            <Button
              kind="icon"
              icon="debug-restart"
              label={`Restore the arguments of run ${one.number}`}
              onClick={() => session.restoreArguments(one)}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}
