/** How well a world predicted the calls of a batch: a bar for each tool, the worst first. */
import { plural } from '../../../src/common/text.ts';
import { accuracyText, partsText } from '../../../src/trace/prediction/text.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Panel } from './panel.tsx';
import './faults.css';

interface PredictionsPanelProps {
  readonly tools: Report['predictions'];
  readonly overall: number | null;
}

export function PredictionsPanel({ tools, overall }: PredictionsPanelProps) {
  return (
    <Panel name="faults" title="Prediction accuracy" note={accuracyText(overall)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by keyboard */}
      <ul class="fault-rows" tabIndex={0}>
        {Object.entries(tools).map(([tool, of]) => (
          <li key={tool} class="fault-row" title={`${tool}: ${accuracyText(of.accuracy)}\n${aboutOf(of)}`}>
            <span class="fault-name">{tool} </span>
            <span class="fault-bar">
              <i class="of-passed" style={{ width: `${100 * (of.accuracy ?? 0)}%` }} />
              <i class="of-failed parted" style={{ width: `${100 - 100 * (of.accuracy ?? 1)}%` }} />
            </span>
            <span class="fault-count">
              {accuracyText(of.accuracy)}
              <span class="only-read">, {aboutOf(of)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Returns `48 predicted calls, 40 right, 1 failed: status 100%, keys 98%`. */
function aboutOf({ calls, right, failed, parts }: Report['predictions'][string]): string {
  const counts = `${plural(calls, 'predicted call')}, ${right} right${failed === 0 ? '' : `, ${failed} failed`}`;
  const shares = partsText(parts);
  return shares === '' ? counts : `${counts}: ${shares}`;
}
