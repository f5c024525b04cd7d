/** The predicted calls, worst first. */
import { percent } from '../../src/common/units.ts';
import { faultOf, type PredictionFault } from '../../src/trace/prediction/fidelity.ts';
import { VirtualList } from '../components/virtualList.tsx';
import { Bar } from './accuracyTable.tsx';
import type { FidelityCall } from './fidelityData.ts';

const ROW = 26;

/** Sign and name of what is wrong with a prediction. */
export const FAULTS: Readonly<Record<PredictionFault | 'right', readonly [sign: string, name: string, title: string]>> =
  {
    none: ['✗', 'no prediction', 'The world, or its judge, gave none'],
    status: ['!', 'status', 'It succeeds where the call failed, fails where it succeeded, or fails in another way'],
    keys: ['−', 'keys', 'Members or items are missing, or too many'],
    deterministic: ['≠', 'deterministic', 'Values that follow from what was seen before'],
    existing: ['≈', 'pre-existing', 'Data of the environment that nobody had seen: the form is wrong'],
    runtime: ['~', 'runtime', 'Times and IDs made at run time: the form is wrong'],
    right: ['=', 'as predicted', 'Nothing is wrong'],
  };

export function faultIn(call: FidelityCall): PredictionFault | 'right' {
  return faultOf(call) ?? 'right';
}

interface CallRowsProps {
  readonly calls: readonly FidelityCall[];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly onOpen: (index: number) => void;
}

export function CallRows({ calls, selected, onSelect, onOpen }: CallRowsProps) {
  return (
    <VirtualList
      count={calls.length}
      rowHeight={ROW}
      label="Predicted calls, worst first"
      role="listbox"
      selected={selected}
      keyOf={(index) => keyOf(calls[index], index)}
      onSelect={onSelect}
      onOpen={onOpen}
      row={(index) => {
        const call = calls[index];
        if (call === undefined) return null;
        const { tool, task, turn, value } = call;
        const [sign, name, title] = FAULTS[faultIn(call)];
        return (
          <div class="fidelity-row" title={`${tool}, turn ${turn} of ${task}`}>
            <span class={`fidelity-sign is-${faultIn(call)}`} title={title} aria-hidden="true">
              {sign}
            </span>
            <code class="fidelity-tool">{tool}</code>
            <span class="fidelity-fault">{name}</span>
            <span class="fidelity-task dim">{task}</span>
            <span class="fidelity-turn dim">turn {turn}</span>
            <Bar share={value} />
            <b class="fidelity-number">{value === null ? '–' : percent(value)}</b>
          </div>
        );
      }}
    />
  );
}

function keyOf(call: FidelityCall | undefined, index: number): string | number {
  return call === undefined ? index : `${call.rollout}@${call.seq}`;
}
