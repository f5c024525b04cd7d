/** Switches the page between the steps and the transcript. */
import { Icon } from '../../components/marks/icon.tsx';
import type { TrajectorySession } from '../session.ts';
import './modeSwitch.css';

export function ModeSwitch({ session }: { readonly session: TrajectorySession }) {
  return (
    <div class="mode-switch" role="group" aria-label="Show">
      <button type="button" aria-pressed={!session.reading} title="Steps (V)" onClick={() => session.read(false)}>
        <Icon name="list-tree" />
        <span>Steps</span>
      </button>
      <button type="button" aria-pressed={session.reading} title="Transcript (V)" onClick={() => session.read(true)}>
        <Icon name="list-selection" />
        <span>Transcript</span>
      </button>
    </div>
  );
}
