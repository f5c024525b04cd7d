/** The arguments of recorded calls, to call the tool with them again. */
import { isSameJson } from '../../src/common/json.ts';
import { oneLine } from '../../src/common/text.ts';
import { valueText } from '../../src/trace/text/values.ts';
import { Dropdown } from '../components/controls.tsx';
import { asJson } from './form/value.ts';
import type { TrySession } from './trySession.ts';

const MAX_LABEL = 100;
/** The form has other arguments. */
const OTHERS = 'others';

export function RecordedArguments({ session }: { readonly session: TrySession }) {
  const { recorded } = session;
  if (recorded.length === 0) return null;
  const members = asJson(session.members) ?? {};
  const current = recorded.findIndex((args) => isSameJson(args, members));
  const options = recorded.map((args, index) => ({
    value: String(index),
    text: oneLine(valueText(args), MAX_LABEL),
  }));
  return (
    <div class="try-world">
      <div class="try-choice" title="The arguments of recorded calls, newest first">
        <span class="field-name">Recorded call</span>
        <Dropdown
          label="Recorded call"
          value={current < 0 ? OTHERS : String(current)}
          options={current < 0 ? [{ value: OTHERS, text: 'Other arguments' }, ...options] : options}
          onChange={(index) => {
            const args = recorded[Number(index)];
            if (args !== undefined) session.restoreArguments({ arguments: args });
          }}
        />
      </div>
    </div>
  );
}
