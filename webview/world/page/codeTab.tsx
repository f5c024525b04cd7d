/** The code of a world, read only. Its lines open in an editor. */
import { useMemo } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { Button, Dropdown } from '../../components/controls.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import type { TabProps } from './worldPage.tsx';

const LINE_HEIGHT = 18;

export function CodeTab({ session, details }: TabProps) {
  const { file, lines: total } = details.code;
  const text = total === 0 ? '' : session.codeText();
  const lines = useMemo(() => text?.split('\n') ?? [], [text]);
  if (total === 0)
    return (
      <EmptyState
        icon="output"
        title="No code"
        text={
          details.kind === 'code'
            ? 'The published files have no code for this scenario, so it cannot run.'
            : 'The world file names no module that exists.'
        }
      />
    );
  if (text === undefined) return <Skeleton />;
  const tools = details.tools.filter(({ line, file: own }) => line !== undefined && own === undefined);
  const open = (line: number): void => session.post({ type: 'open', part: 'code', line });
  const selected = session.codeLine === undefined ? -1 : session.codeLine - 1;
  return (
    <div class="world-rows">
      <div class="world-tools">
        <code>{file}</code>
        <span class="dim">{count(lines.length)} lines</span>
        {tools.length > 0 && (
          <Dropdown
            label="Go to tool"
            value={String(tools.find(({ line }) => line === session.codeLine)?.line ?? '')}
            options={[
              { value: '', text: 'Go to tool…' },
              ...tools.map(({ name, line }) => ({ value: String(line), text: name })),
            ]}
            onChange={(line) => session.select({ codeLine: line === '' ? undefined : Number(line) })}
          />
        )}
        <span class="grow" />
        <Button kind="secondary" icon="go-to-file" label="Open in Editor" onClick={() => open(session.codeLine ?? 1)} />
      </div>
      <div class="world-code">
        <VirtualList
          count={lines.length}
          rowHeight={LINE_HEIGHT}
          label={`Code of ${details.title}`}
          role="listbox"
          selected={selected}
          keyOf={(index) => index}
          row={(index) => (
            <div class="world-line-of-code">
              <span class="world-line-number">{index + 1}</span>
              <span>{lines[index]}</span>
            </div>
          )}
          onSelect={(index) => session.select({ codeLine: index + 1 })}
          onOpen={(index) => open(index + 1)}
        />
      </div>
    </div>
  );
}
