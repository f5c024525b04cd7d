/** A list of what each scorer and person says about a rollout. */
import { ActionLink } from '../components/link.tsx';
import { Glyph } from '../components/marks/glyph.tsx';
import { Icon } from '../components/marks/icon.tsx';
import type { VerdictText } from './verdictTexts.ts';
import './verdictList.css';

interface VerdictListProps {
  readonly texts: readonly VerdictText[];
  /** Opens the rollout whose scorer said it. Absent: nothing is a link. */
  readonly onOpen?: (rollout: string) => void;
}

export function VerdictList({ texts, onOpen }: VerdictListProps) {
  return (
    <ul class="verdict-list">
      {texts.map(({ scorer, name, isPerson, outcome, value, details, run }) => (
        <li key={scorer} title={`${name}: ${outcome}${details.map((detail) => `\n${detail}`).join('')}`}>
          <Glyph outcome={outcome} title={outcome} />
          {isPerson && <Icon name="person" label="label of" />}
          {run === undefined || onOpen === undefined ? (
            <span>{name}</span>
          ) : (
            <ActionLink label={name} title="Open the rollout that scored this one again" onClick={() => onOpen(run)} />
          )}
          {value !== undefined && <b>{value}</b>}
          <span class="dim">{details.join(', ')}</span>
        </li>
      ))}
    </ul>
  );
}

/** Says that verdicts contradict each other. */
export function Disagreement() {
  return (
    <span class="verdicts-disagree" title="At least one verdict is passed, and at least one is failed">
      <Icon name="warning" /> Verdicts disagree
    </span>
  );
}
