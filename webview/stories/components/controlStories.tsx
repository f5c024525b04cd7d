/** Buttons, fields, dropdowns, tabs, and menus in all their states. */
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button, Checkbox, Dropdown, TextField } from '../../components/controls.tsx';
import { KeysOverlay } from '../../components/overlays/keysOverlay.tsx';
import { MenuButton } from '../../components/overlays/menu.tsx';
import { TabPanel, Tabs } from '../../components/tabs.tsx';
import { story } from '../index.ts';

const nothing = (): void => undefined;

export function Sheet({ title, children }: { readonly title: string; readonly children: ComponentChildren }): VNode {
  return (
    <main class="story-sheet">
      <h1>{title}</h1>
      {children}
    </main>
  );
}

function Controls() {
  const [text, setText] = useState('error:timeout');
  const [sort, setSort] = useState('rate');
  const [checked, setChecked] = useState(true);
  return (
    <Sheet title="Controls">
      <div class="story-line">
        <Button kind="primary" label="Apply and resume" onClick={nothing} />
        <Button kind="secondary" label="Compare" icon="list-tree" onClick={nothing} />
        <Button kind="secondary" label="Not now" disabled onClick={nothing} />
        <Button kind="icon" label="Copy" icon="copy" onClick={nothing} />
        <Button kind="icon" label="Detail pane" icon="layout-sidebar-right" pressed onClick={nothing} />
      </div>
      <div class="story-line">
        <TextField label="Filter" value={text} icon="filter" onInput={setText} />
        <TextField
          label="Search"
          value=""
          placeholder="Search steps, arguments, results"
          icon="search"
          onInput={nothing}
        />
        <TextField label="Broken filter" value="steps >" invalid onInput={nothing} />
      </div>
      <div class="story-line">
        <Dropdown
          label="Sort"
          value={sort}
          onChange={setSort}
          options={[
            { value: 'rate', text: 'Sort: pass rate' },
            { value: 'name', text: 'Sort: name' },
          ]}
        />
        <Checkbox label="Only errors" checked={checked} onChange={setChecked} />
      </div>
    </Sheet>
  );
}
story('components', 'controls', () => <Controls />);

function AllTabs() {
  const [tab, setTab] = useState('messages');
  return (
    <Sheet title="Tabs">
      <Tabs
        label="Detail"
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: 'call', label: 'Call' },
          { id: 'messages', label: 'Messages', badge: '11' },
          { id: 'world', label: 'World', badge: '2' },
        ]}
      />
      {['call', 'messages', 'world'].map(
        (id) =>
          id === tab && (
            <TabPanel key={id} id={id} label={id}>
              The tab {id}.
            </TabPanel>
          ),
      )}
    </Sheet>
  );
}
story('components', 'tabs', () => <AllTabs />);

function OpenMenu() {
  useEffect(() => document.querySelector<HTMLElement>('.menu-button vscode-button')?.click(), []);
  return (
    <Sheet title="Menu">
      <MenuButton
        label="More"
        icon="ellipsis"
        entries={[
          { label: 'Copy link', keys: '⇧Y', onClick: nothing },
          { label: 'Save as one HTML file…', onClick: nothing },
          { label: 'Keyboard Shortcuts', keys: '?', onClick: nothing },
        ]}
      />
    </Sheet>
  );
}
story('components', 'menu', () => <OpenMenu />);

const GROUPS = ['Move', 'Time axis', 'Detail', 'Debug', 'Find', 'Other'].map((title) => ({
  title,
  keys: [
    { keys: 'J / K', does: 'next, previous step' },
    { keys: 'E / ⇧E', does: 'next, previous error' },
    { keys: 'T', does: 'next call of this tool' },
    { keys: 'Z', does: 'zoom to this step' },
  ],
}));
story('components', 'keys', () => <KeysOverlay groups={GROUPS} onClose={nothing} />);
