/** A World page: header, tabs, and the selected tab. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { plural } from '../../../src/common/text.ts';
import { count } from '../../../src/common/units.ts';
import type { WorldDetails, WorldTabId } from '../../../src/protocol/worldPage.ts';
import { Button } from '../../components/controls.tsx';
import { ActionLink } from '../../components/link.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { Banner } from '../../components/notices/banner.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { KeysOverlay } from '../../components/overlays/keysOverlay.tsx';
import { TabPanel, Tabs } from '../../components/tabs.tsx';
import { useChanges } from '../../data/observe.ts';
import { useKeys } from '../../keys.ts';
import { CodeTab } from './codeTab.tsx';
import { DriveTab } from './drive/driveTab.tsx';
import { HealthTab } from './healthTab.tsx';
import { RowsTab } from './rowsTab.tsx';
import { SchemaTab } from './schema/schemaTab.tsx';
import { TasksTab } from './tasksTab.tsx';
import { ToolsTab } from './toolsTab.tsx';
import { VerifiersTab } from './verifiersTab.tsx';
import type { WorldSession } from './worldSession.ts';
import './worldPage.css';

const TABS: Readonly<Record<WorldTabId, { readonly label: string; readonly view: (props: TabProps) => VNode }>> = {
  tasks: { label: 'Tasks', view: TasksTab },
  schema: { label: 'Schema', view: SchemaTab },
  rows: { label: 'Rows', view: RowsTab },
  tools: { label: 'Tools', view: ToolsTab },
  code: { label: 'Code', view: CodeTab },
  verifiers: { label: 'Verifiers', view: VerifiersTab },
  health: { label: 'Health', view: HealthTab },
  drive: { label: 'Drive', view: DriveTab },
};
const IDS = Object.keys(TABS) as WorldTabId[];

export interface TabProps {
  readonly session: WorldSession;
  readonly details: WorldDetails;
}

export function WorldPage({ session }: { readonly session: WorldSession }) {
  useChanges(session.changed);
  const [showsKeys, setShowsKeys] = useState(false);
  const { details, problem, tab } = session;
  useKeys(
    {
      ...Object.fromEntries(IDS.map((_, index) => [String(index + 1), () => session.selectTab(index + 1)])),
      '?': () => setShowsKeys(true),
    },
    details !== undefined && !showsKeys,
  );
  if (details === undefined)
    return (
      <main class="world-page">
        <h1 class="only-read">World</h1>
        {problem === undefined ? (
          <Skeleton />
        ) : (
          <EmptyState
            icon="error"
            title="This world cannot be shown"
            text={`${problem.text} ${problem.hint}`.trim()}
            actions={[
              { label: 'Try Again', onClick: () => session.post({ type: 'reload' }) },
              { label: 'Open World File', onClick: () => session.post({ type: 'worldFile' }) },
            ]}
          />
        )}
      </main>
    );
  const { label, view: View } = TABS[tab];
  const tabs = IDS.map((id) => {
    const badge = badgeOf(id, session, details);
    return { id, label: TABS[id].label, ...(badge === undefined ? {} : { badge }) };
  });
  return (
    <main class="world-page">
      <WorldHead session={session} details={details} />
      {problem !== undefined && <Banner kind="warning" text={`${problem.text} ${problem.hint}`.trim()} />}
      <Tabs label="World" tabs={tabs} selected={tab} onSelect={(id) => session.select({ tab: id as WorldTabId })} />
      <TabPanel id={tab} label={label}>
        <View session={session} details={details} />
      </TabPanel>
      <footer class="world-foot">
        <span class="world-foot-name">
          {details.scenario ?? details.file}
          {details.problems.length > 0 && ` · ${plural(details.problems.length, 'problem')} in its files`}
        </span>
        <span class="grow" />
        <button type="button" class="link world-keys" onClick={() => setShowsKeys(true)}>
          <kbd>1</kbd> to <kbd>{IDS.length}</kbd> tabs <kbd>/</kbd> filter <kbd>?</kbd> all keys
        </button>
      </footer>
      {showsKeys && <KeysOverlay groups={KEYS} onClose={() => setShowsKeys(false)} />}
    </main>
  );
}

const KEYS = [
  {
    title: 'Page',
    keys: [
      { keys: `1 … ${IDS.length}`, does: 'show a tab' },
      { keys: '/', does: 'filter' },
      { keys: '?', does: 'show all keys' },
    ],
  },
  {
    title: 'Schema',
    keys: [
      { keys: '← ↑ ↓ →', does: 'select the next table' },
      { keys: 'Enter', does: 'show its rows' },
      { keys: '+ −', does: 'zoom' },
      { keys: '0', does: 'fit' },
    ],
  },
  {
    title: 'Drive',
    keys: [
      { keys: 'Ctrl+Enter', does: 'run the call' },
      { keys: '[ ]', does: 'go to the state before, after' },
      { keys: 'Shift+B', does: 'begin a branch' },
      { keys: 'V', does: 'verify this state' },
      { keys: '/', does: 'search tools' },
      { keys: 'Enter', does: 'from a tool to its form' },
      { keys: 'Esc', does: 'back to the tools' },
    ],
  },
  {
    title: 'Lists',
    keys: [
      { keys: '↑ ↓', does: 'select' },
      { keys: 'Enter', does: 'open in an editor' },
    ],
  },
];

function badgeOf(id: WorldTabId, { health }: WorldSession, details: WorldDetails): string | undefined {
  switch (id) {
    case 'tasks':
      return count(details.tasks.length);
    case 'schema':
      return count(details.tables.length);
    case 'rows':
      return count(details.tables.reduce((sum, { rows }) => sum + rows, 0));
    case 'tools':
      return count(details.tools.length);
    case 'verifiers':
      return count(details.tasks.reduce((sum, { verifiers }) => sum + verifiers.length, 0));
    case 'health':
      return health === undefined ? undefined : count(health.health.findings.length);
    case 'code':
    case 'drive':
      return undefined;
  }
}

function WorldHead({ session, details }: TabProps) {
  const { title, format, kind, tasks, tools, tables, last, world, canExtract } = details;
  const numbers: [number, string][] = [
    [tasks.length, 'task'],
    [tools.length, 'tool'],
    [tables.length, 'table'],
  ];
  return (
    <header class="page-head">
      <Icon name="database" />
      <h1 title={details.description === '' ? title : details.description}>{title}</h1>
      <span class="page-mark">{format ?? (kind === 'module' ? 'TypeScript' : 'World')}</span>
      <span class="world-numbers">
        {numbers.map(([number, noun]) => (
          <span class="quantity" key={noun}>
            <b>{count(number)}</b> {number === 1 ? noun : `${noun}s`}
          </span>
        ))}
      </span>
      {last !== undefined && last.text !== '' && (
        <span class="world-last">
          <span class="dim">Last batch </span>
          {last.text}{' '}
          <ActionLink
            label={last.name}
            title="Open the batch"
            onClick={() => session.post({ type: 'batch', batch: last.batch })}
          />
        </span>
      )}
      <span class="grow" />
      <span class="world-actions">
        <Button
          kind="icon"
          icon="go-to-file"
          label={`Open the world file of ${world}`}
          onClick={() => session.post({ type: 'worldFile' })}
        />
        {canExtract && (
          <Button
            kind="secondary"
            icon="save"
            label="Extract to Workspace"
            title="Writes the scenario as files that you can edit, and a world file that uses them"
            onClick={() => session.post({ type: 'extract' })}
          />
        )}
        <Button
          kind="secondary"
          icon="play"
          label="Run Batch…"
          title="Runs a batch on this world"
          onClick={() => session.post({ type: 'run' })}
        />
      </span>
    </header>
  );
}
