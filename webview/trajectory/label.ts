/** Records the user's own verdict on the attempt, as far as the environment knows who the user is. */
import { personOf } from '../../src/trace/verdicts.ts';
import type { MenuEntry } from '../components/overlays/menu.tsx';
import { currentRow } from './reason.ts';
import type { TrajectorySession } from './session.ts';

/** null withdraws the label. */
export function label(session: TrajectorySession, passed: boolean | null): void {
  if (session.readOnly || !session.can.has('label')) return;
  if (currentRow(session.data)?.state !== 'ended') {
    session.say('This attempt has not ended, so nobody can judge it yet.');
    return;
  }
  const refused = session.debug.refused('control');
  if (refused !== undefined) {
    session.say(refused);
    return;
  }
  session.act({ do: 'label', rollout: session.data.rollout, passed });
}

/** Returns the entries of a menu; none while the attempt cannot be labeled. */
export function labelEntries(session: TrajectorySession): MenuEntry[] {
  const row = currentRow(session.data);
  if (session.readOnly || !session.can.has('label') || row?.state !== 'ended') return [];
  const isLabeled = Object.entries(row.progress.verdicts ?? {}).some(
    ([scorer, { passed }]) => passed !== null && personOf(scorer) !== undefined,
  );
  const refused = session.debug.refused('control');
  return [
    { label: 'Label as Passed', keys: '+', refused, onClick: () => label(session, true) },
    { label: 'Label as Failed', keys: '−', refused, onClick: () => label(session, false) },
    ...(isLabeled ? [{ label: 'Withdraw My Label', refused, onClick: () => label(session, null) }] : []),
  ];
}
