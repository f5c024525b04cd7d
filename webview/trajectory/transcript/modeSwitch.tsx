/** Switches the page between the steps and the transcript. */
import { Switch } from '../../components/switch.tsx';
import type { TrajectorySession } from '../session.ts';

const MODES = [
  { value: 'steps', text: 'Steps', title: 'Steps (V)', icon: 'list-tree' },
  { value: 'transcript', text: 'Transcript', title: 'Transcript (V)', icon: 'list-selection' },
] as const;

export function ModeSwitch({ session }: { readonly session: TrajectorySession }) {
  return (
    <Switch
      label="Show"
      options={MODES}
      value={session.reading ? 'transcript' : 'steps'}
      onChange={(mode) => session.read(mode === 'transcript')}
    />
  );
}
